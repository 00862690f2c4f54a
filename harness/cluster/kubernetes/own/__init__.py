"""A cluster in pods that the run makes itself: its objects, its nodes, the machines they are on."""
