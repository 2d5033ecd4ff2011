"""The tools that the MCP server offers: run, read, wait, list and kill."""
