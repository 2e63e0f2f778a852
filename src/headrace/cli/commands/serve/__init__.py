"""The `headrace serve` command."""
