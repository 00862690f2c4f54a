"""Commands that let stored runs be asked."""
