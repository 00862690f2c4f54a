"""What a made-up history is made of: the log, what is planted in it, what readers had, files."""
