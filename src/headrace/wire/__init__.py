"""The wire layer: decodes the bytes of a provider into turn events."""
