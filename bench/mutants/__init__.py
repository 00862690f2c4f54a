"""`make mutants`: which small changes of the code no test would notice. May import all."""
