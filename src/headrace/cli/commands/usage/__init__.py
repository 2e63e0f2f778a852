"""The `headrace usage` command."""
