"""Questions to stored runs: the views that SQL and notebooks see, over one run or a thousand."""
