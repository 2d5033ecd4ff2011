"""Code that host and keeper share: messages, /proc, task directories."""
