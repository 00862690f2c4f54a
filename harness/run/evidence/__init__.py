"""Keeps what the brokers' disks and logs show of a run: history/kept.jsonl."""
