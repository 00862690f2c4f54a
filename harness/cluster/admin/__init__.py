"""What the harness asks of brokers and changes in them: topics, settings, elections, groups.

May import client_security, ownership, capabilities and nodes of harness.cluster; no backend.
"""
