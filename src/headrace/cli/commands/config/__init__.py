"""The `headrace config` command."""
