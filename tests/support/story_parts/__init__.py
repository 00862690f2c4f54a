"""Parts of stories beside those of tests/support/histories.py."""
