"""The end of a server that was told to stop: how long it may take, and what ends it then."""
