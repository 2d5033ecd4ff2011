"""`nacre mcp`: the tool as a server of the Model Context Protocol, over stdio or streamable HTTP.

Settings in, a server on the official SDK out. Needs `pip install 'nacre[mcp]'`; only modules of this folder import the
SDK, and only when a server is made. `wire` guards the standard streams before that.
"""
