"""What decides a run's promises: the configuration in force, and what its faults may have done."""
