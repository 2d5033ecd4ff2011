"""An abstract interpreter: follow what a script would run, without running it."""
