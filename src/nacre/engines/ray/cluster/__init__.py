"""Find a Ray cluster, join it, and notice when it is lost."""
