"""Stories of transformers."""
