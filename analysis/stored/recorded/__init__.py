"""What is recorded and what is not: rows that no recorder and no sealing writes."""
