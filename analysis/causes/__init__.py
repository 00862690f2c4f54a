"""What permits a record's anomaly: leader changes, unclean elections, strikes, bits, stops."""
