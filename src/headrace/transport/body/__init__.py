"""How the body of a response is read: chunks, compression, and reads that the socket pushes."""
