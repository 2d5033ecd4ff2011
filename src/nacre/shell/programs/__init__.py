"""Models of programs that run other programs, or whose output is known."""
