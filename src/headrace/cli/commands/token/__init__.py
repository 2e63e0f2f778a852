"""The `headrace token` command."""
