"""What the brokers themselves have to say of a run, kept with it: history/kept.jsonl."""
