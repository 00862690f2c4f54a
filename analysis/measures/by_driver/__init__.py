"""The measures of a run whose files the driver can open: the same answers, by numpy."""
