"""Pages made of many runs: docs/{study,study-older,configurations,faq,backends}.md."""
