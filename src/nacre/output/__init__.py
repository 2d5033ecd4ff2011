"""Output: what was captured in, the text that a model reads out. Pure: no file is opened here, nothing is drawn."""
