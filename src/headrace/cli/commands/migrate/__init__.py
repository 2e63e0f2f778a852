"""The `headrace migrate` command."""
