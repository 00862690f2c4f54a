"""The Spark session that the checks run in."""
