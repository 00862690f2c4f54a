"""The local backend: nodes as processes in private Linux namespaces of this host."""
