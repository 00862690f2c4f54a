"""What the tests of the report page share."""
