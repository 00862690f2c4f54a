"""Running commands where a node is: kept-open shells, the sidecar script, processes on this host.

May import harness.cluster's nodes and capabilities; no backend.
"""
