"""Changes of leaders: what another one, an unclean election and a deposed leader permit."""
