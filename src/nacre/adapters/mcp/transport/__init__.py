"""Transports of the MCP server: standard streams, or HTTP with a token."""
