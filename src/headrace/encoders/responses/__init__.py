"""OpenAI Responses requests."""
