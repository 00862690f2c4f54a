"""What may be typed: the options of each command, one file for each panel of `--help`."""
