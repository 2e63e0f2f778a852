"""Resuming runs: how far a run has come according to its records, and how to close what is open."""
