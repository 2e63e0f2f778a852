"""Redaction: hides secrets in the events, messages and requests of a run."""
