"""Pages made of many runs: docs/study.md, docs/faq.md and docs/backends.md."""
