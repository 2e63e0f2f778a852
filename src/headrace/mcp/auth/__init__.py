"""Signing in to MCP servers."""
