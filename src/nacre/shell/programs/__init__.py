"""Models of programs that run others, or whose output is known."""
