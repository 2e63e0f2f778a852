"""Chat Completions requests."""
