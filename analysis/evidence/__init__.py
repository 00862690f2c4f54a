"""What is known around what Spark found, told by the driver: the same columns, by numpy."""
