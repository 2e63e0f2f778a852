"""The gRPC transport for xAI (extra `xai`)."""
