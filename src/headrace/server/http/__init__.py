"""The HTTP side of the server: routes, security checks, errors and event streams."""
