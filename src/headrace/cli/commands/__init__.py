"""The commands of `headrace`, one folder per command."""
