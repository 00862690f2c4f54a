"""What is known around what Spark found, told by the driver: the same columns, by numpy.

May import the other frames and stored.
"""
