"""Checks names, docstring openings, sizes and inheritance: `python -m scripts.lint`, part of `make check`."""
