"""A model's call: parse its arguments, define the tool, answer."""
