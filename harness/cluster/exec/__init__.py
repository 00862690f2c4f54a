"""Running commands where a node is: kept-open shells, and the workers' processes on this host.

May import harness.cluster's nodes and capabilities, host and waiting; no backend.
"""
