"""Persistent storage of the server: data folder, database, log, store and access tokens."""
