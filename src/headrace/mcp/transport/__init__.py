"""Transports of MCP: child processes and Streamable HTTP, with limits."""
