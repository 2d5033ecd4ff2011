"""The guest side of an engine: bash programs that run there, and the run directory that both sides share."""
