"""From stored runs to DataFrames: what is recorded, typed and joined, before anything is judged."""
