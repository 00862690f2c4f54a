"""The docker backend: nodes as containers of a compose project."""
