"""Pages made of many runs: docs/study.md, study-older.md, configurations.md, faq.md, backends.md."""
