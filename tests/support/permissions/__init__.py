"""A second opinion on what permits a record, and the random clusters that it is asked about."""
