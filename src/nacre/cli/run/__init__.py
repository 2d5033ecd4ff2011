"""The command `nacre run`."""
