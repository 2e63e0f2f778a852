"""The request encoder of the Responses dialect."""
