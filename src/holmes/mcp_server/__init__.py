"""Holmes as an MCP server."""
