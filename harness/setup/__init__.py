"""Sets a machine up, once: installs, examines the host, makes images.

`install` and what it imports need no package.
"""
