"""From anomalies to a verdict: doubts, what is promised, what the scenario demands."""
