"""Random histories: any operations at all, and histories with planted anomalies."""
