"""Rules about the text of a command."""
