"""Redaction middleware: removes secrets from a run before anything is logged or shown."""
