"""The story of each finding: who had the record, who led, and why it is gone.

Told from the evidence of the check and from what was kept of the brokers' logs (docs/evidence.md).
May import stored.
"""
