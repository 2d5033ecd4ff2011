"""Helpers that several adapters share."""
