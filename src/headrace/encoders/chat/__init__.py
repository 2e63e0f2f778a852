"""The request encoder of the chat dialect."""
