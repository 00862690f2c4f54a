"""What tests share: told histories, reports, a mock Kafka, workers as processes, test clusters.

May import everything but a test.
"""
