"""Programs of the user's own beside the cluster, and what they make of the workload's records."""
