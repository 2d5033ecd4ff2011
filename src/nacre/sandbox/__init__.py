"""Sandboxing: turns an access mode into kernel restrictions and applies them."""
