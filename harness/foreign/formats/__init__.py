"""What files of other programs' histories look like, and how they are read, entry by entry."""
