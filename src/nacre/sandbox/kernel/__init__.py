"""Restrictions of one run, applied by system calls. Runs in the keeper process."""
