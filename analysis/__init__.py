"""The checkers: a Spark job over stored runs. It never talks to Kafka."""
