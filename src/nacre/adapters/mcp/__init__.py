"""`nacre mcp`: nacre's tools as a Model Context Protocol server, over stdio or streamable HTTP.

Builds a server on the official SDK from its settings. Needs `pip install 'nacre[mcp]'`; only modules of this package
import the SDK, and only when a server is created. `transport.private_stdio` takes over the standard streams before
that.
"""
