"""Rules about git."""
