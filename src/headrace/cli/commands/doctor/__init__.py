"""The `headrace doctor` command."""
