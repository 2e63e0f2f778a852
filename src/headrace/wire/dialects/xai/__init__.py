"""xAI's own dialect: the chunks of its gRPC service."""
