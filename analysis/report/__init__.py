"""report.json and everything made of it: headline, page, timeline, junit."""
