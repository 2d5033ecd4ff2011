"""Recorded results, and a drawing of every view."""
