"""What permits a record's anomaly: the run's configuration and faults, leader changes, strikes."""
