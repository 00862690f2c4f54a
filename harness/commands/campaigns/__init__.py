"""The commands campaign and compare: the runs still to do, their lines, the nights."""
