"""The command campaign: its file, what is still to do, the runs, and their lines."""
