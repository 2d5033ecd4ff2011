"""Permission rules such as `Bash(git push:*)`."""
