"""What the tests of the export for Jepsen share."""
