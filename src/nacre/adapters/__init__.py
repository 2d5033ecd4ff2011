"""The rim: nacre where people already are. Each adapter translates, and does nothing else."""
