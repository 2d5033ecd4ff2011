"""`nacre run`."""
