"""The `headrace restore` command."""
