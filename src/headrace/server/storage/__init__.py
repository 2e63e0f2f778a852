"""Persistent storage of the server: database, log, store and access tokens."""
