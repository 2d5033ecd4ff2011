"""Reserve a place on a node for each run."""
