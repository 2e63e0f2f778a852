"""The Anthropic Messages dialect, also as cloud providers and compatible servers send it."""
