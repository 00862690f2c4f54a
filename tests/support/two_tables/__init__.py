"""Two tables of anybody's, for tests of what is made and found of them."""
