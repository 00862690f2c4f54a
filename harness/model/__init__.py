"""What everything else speaks of: the scenario, and a run's folder and record."""
