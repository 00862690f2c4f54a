"""Commands that check two tables of another program, here or by spark-submit (docs/tables.md)."""
