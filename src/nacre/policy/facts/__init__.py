"""Questions about one command that rules ask: is it harmless, which files does it write, what does it delete?"""
