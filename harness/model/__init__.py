"""What all other rooms share: the scenario, and a run's folder and record."""
