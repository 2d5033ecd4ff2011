"""Hostile input, made up by the hundred thousand: `python -m fuzz`. Nothing here is installed."""
