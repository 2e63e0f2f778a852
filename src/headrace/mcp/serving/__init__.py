"""What a Headrace server offers to MCP clients beside its agents: tools, prompts and resources."""
