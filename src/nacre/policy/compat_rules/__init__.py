"""Patterns of other tools, as questions about one command."""
