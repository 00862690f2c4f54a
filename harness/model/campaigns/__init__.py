"""What a campaign's file may say, and the cells that it comes to."""
