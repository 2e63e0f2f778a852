"""The dialect of Cohere's chat API, version 2 and version 1."""
