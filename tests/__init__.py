"""Tests: unit/ mirrors the tree, live/ runs real clusters, rules/ holds the house to its rules.

May import everything; of what is not a test, bench alone imports support.
"""
