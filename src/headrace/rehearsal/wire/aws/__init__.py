"""Writes the streams of Amazon Bedrock, which are AWS event streams."""
