"""The agent on a node, and everything that is sent to it and back."""
