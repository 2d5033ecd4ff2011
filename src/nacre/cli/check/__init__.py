"""`nacre check`, `explain` and `rules`."""
