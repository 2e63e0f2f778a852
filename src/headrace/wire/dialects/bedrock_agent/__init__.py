"""The dialect of agents of Amazon Bedrock."""
