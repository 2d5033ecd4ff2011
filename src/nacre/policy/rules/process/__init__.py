"""Rules about processes."""
