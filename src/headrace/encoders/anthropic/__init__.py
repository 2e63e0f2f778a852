"""The request encoder of the Anthropic dialect."""
