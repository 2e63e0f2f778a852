"""The server: runs that outlive their watchers, a log that loses nothing, one commit a message."""
