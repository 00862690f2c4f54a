"""Running commands where a node is: kept-open shells, and the workers' processes on this host."""
