"""System calls that apply the restrictions of one run. Runs in the keeper process."""
