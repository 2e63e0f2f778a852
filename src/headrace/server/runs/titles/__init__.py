"""Titles of conversations, written by a model."""
