"""Run a planned command: start it, follow it, limit how many run, build its outcome."""
