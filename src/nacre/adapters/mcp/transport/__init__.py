"""How the MCP server is reached: standard streams, or HTTP with a token."""
