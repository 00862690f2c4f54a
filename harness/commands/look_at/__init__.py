"""Commands that show scenarios, plans, reports and histories. They start nothing."""
