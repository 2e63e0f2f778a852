"""Store and log in PostgreSQL, for several servers that share one database."""
