"""Consumer groups: what they made of the log, what they committed, who owned what."""
