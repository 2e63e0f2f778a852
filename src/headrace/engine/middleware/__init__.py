"""Hooks around a run, and what is shipped of them."""
