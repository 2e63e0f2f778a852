"""Several worker processes of one server, which share a listening socket and a database."""
