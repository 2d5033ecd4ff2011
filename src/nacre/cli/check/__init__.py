"""The commands `nacre check`, `explain` and `rules`."""
