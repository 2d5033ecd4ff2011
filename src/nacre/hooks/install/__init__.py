"""Add a hook to an agent's settings, or remove it."""
