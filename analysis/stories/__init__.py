"""The story of each finding: who had the record, who led, and why it is gone, told from the check's
evidence and from what was kept of the brokers' logs (docs/evidence.md).
"""
