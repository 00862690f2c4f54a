"""What is done once a machine: install, examine the host, make images.

May import cluster, distribution, host. `install` and what it imports: standard library only.
"""
