"""Second opinions on families of anomalies, in plain Python: parts of tests/support/oracle.py."""
