"""The page over a results folder: its runs, what settings changed in them, how nights went."""
