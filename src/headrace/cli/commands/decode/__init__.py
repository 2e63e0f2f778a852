"""The `headrace decode` command."""
