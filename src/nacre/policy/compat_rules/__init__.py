"""Patterns of other tools, as predicates on one command."""
