"""The `headrace ask` command."""
