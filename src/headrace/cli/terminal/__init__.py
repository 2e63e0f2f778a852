"""Terminal output shared by all commands: colors, width, safe text and progress."""
