"""Text for a terminal, without rich."""
