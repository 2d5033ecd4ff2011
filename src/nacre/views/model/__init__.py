"""The text that a model reads of a result."""
