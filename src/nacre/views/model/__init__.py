"""The text that a model reads about a result."""
