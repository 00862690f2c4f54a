"""Tests: unit/ mirrors the tree, live/ runs real clusters, rules/ holds the house to its rules."""
