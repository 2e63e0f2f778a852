"""The `headrace record` command."""
