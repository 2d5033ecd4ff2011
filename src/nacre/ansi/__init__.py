"""Text written for a terminal: decode it, render it, measure its columns."""
