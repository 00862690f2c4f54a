"""What is done once a machine: install, examine the host, make images.

May import cluster, distribution, host, model, release and checkout. `install` and what it imports
need no package.
"""
