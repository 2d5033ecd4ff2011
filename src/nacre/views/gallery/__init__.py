"""Recorded results and drawings of every view."""
