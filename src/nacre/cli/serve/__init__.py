"""Commands for other programs: hooks and the MCP server."""
