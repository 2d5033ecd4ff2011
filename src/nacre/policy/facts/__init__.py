"""Facts about one command that rules need: whether it is harmless, which files it writes, what it deletes."""
