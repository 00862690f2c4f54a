"""The contents of a campaign's file, and the cells that follow from it."""
