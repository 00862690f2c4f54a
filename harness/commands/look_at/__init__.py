"""Commands that show what there is: scenarios, plans, reports, histories. Nothing is started."""
