"""Commands for background tasks."""
