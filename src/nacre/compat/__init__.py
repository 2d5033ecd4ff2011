"""Programming interfaces of other agents' bash tools, implemented on nacre: one module each."""
