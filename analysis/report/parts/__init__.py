"""Parts of the page that are made beside it: evidence, close-up, counters, files."""
