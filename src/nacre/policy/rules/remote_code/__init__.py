"""Rules about code from elsewhere."""
