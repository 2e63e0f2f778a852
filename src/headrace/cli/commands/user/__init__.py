"""The `headrace user` command."""
