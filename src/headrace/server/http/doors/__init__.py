"""Doors: the routes of other projects' protocols, so that their clients can use the server."""
