"""Text for a terminal, drawn without rich."""
