"""Parts of report.html that are made beside the page: evidence, close-up, counters, files."""
