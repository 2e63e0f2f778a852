"""Exports of conversations, as JSON and as Markdown."""
