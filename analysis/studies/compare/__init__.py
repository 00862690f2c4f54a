"""What changed between two sets of runs: exact tests, a rank test, one correction for all."""
