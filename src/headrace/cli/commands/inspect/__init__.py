"""The `headrace inspect` command."""
