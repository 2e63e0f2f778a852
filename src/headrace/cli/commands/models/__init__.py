"""The `headrace models` command."""
