"""What permits a record's anomaly: leader changes, unclean elections, strikes, flipped bits, stops.

May import run_facts and frames.
"""
