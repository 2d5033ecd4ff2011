"""The gallery: every view for people, drawn from recorded results."""
