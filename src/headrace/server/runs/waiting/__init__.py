"""Runs that wait: suspended ones, those of other servers, and those on the way."""
