"""The story of each finding: who had the record, who led, and why it is gone, by its evidence and
the brokers' kept logs (docs/evidence.md)."""
