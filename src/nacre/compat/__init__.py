"""The seeds' own interfaces, on nacre: one module each."""
