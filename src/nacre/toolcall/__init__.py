"""A model's tool call: parse its arguments, define the tool, answer."""
