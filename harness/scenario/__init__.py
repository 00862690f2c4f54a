"""From a scenario file to a prepared run: read, checked, resolved; nothing is started here."""
