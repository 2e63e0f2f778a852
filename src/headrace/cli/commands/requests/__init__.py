"""The `headrace requests` command."""
