"""Checks names, docstring openings and sizes: `python -m scripts.lint`, part of `make check`."""
