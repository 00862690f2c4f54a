"""Histories of other programs: reads lines and EDN, writes the folder of a run, exports lines."""
