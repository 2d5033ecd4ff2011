"""Views of a Result: the text that a model reads, and drawings for a person. Nothing here prints."""
