"""Fault injection around nacre: `make faults`. Not part of the installed package."""
