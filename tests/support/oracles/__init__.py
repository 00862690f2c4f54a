"""Second opinions on anomalies, in plain Python, a module a family."""
