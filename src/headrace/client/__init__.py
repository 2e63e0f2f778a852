"""A client for the HTTP API of a Headrace server, remote or in this process."""
