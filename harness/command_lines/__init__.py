"""What may be typed: the options of each command, one file for each panel of `--help`.

May import all of harness but the cli, which registers what is here.
"""
