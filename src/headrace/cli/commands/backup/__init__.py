"""The `headrace backup` command."""
