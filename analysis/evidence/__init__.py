"""The columns of evidence around the rows that Spark found, computed by the driver with numpy."""
