"""Decide whether a command may run: check it, ask a person, or refuse."""
