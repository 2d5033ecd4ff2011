"""Fuzzing with generated hostile input: `python -m fuzz`. Not part of the installed package."""
