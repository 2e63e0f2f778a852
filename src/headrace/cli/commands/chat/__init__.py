"""The `headrace chat` command: a conversation in the terminal."""
