"""ASGI middleware in front of all routes."""
