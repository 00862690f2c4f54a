"""Runs commands beside nodes, by open shells, and the workers' processes on this host."""
