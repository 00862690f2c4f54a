"""What the brokers themselves have to say of a run, kept with it: history/kept.jsonl. May import
what harness.run may, but nothing of harness.run beside it."""
