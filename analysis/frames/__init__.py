"""From run folders to DataFrames: what is recorded, typed and joined, before anything is judged.

May import nothing else of analysis.
"""
