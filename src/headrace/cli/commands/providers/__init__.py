"""The `headrace providers` command."""
