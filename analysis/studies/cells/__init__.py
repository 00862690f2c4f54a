"""What the runs of a cell show together: shares with their intervals, sittings, and which cells and
runs are one experiment."""
