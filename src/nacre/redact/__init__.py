"""Mask secrets in text."""
