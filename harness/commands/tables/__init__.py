"""Commands that check any two tables, here or as one spark-submit (docs/tables.md)."""
