"""What is done once a machine: install, examine the host, make images.

`install` and what it imports need no package.
"""
