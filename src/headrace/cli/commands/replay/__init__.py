"""The `headrace replay` command."""
