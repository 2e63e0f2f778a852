"""Calls of tools: how the calls of a turn are approved, run and stopped."""
