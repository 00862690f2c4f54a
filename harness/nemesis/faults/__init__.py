"""The faults, one file a verb or a family of verbs, in rooms by what they hit."""
