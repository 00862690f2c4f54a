"""The commands campaign and compare: what is still to do, the runs, their lines, the nights."""
