"""What checking costs, beside DuckDB doing the same: `make bench-checker`."""
