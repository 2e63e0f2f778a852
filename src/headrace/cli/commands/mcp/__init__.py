"""`headrace mcp`: an agent as a tool of MCP clients."""
