"""What users have used: bytes of storage, tokens and money."""
