"""The check, from histories to reports, and the class archive that lets it start fast."""
