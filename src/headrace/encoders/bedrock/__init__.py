"""The request encoder of the Bedrock dialect."""
