"""A parser for bash."""
