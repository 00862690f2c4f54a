"""Commands that check two tables of anybody's, here or as one spark-submit (docs/tables.md)."""
