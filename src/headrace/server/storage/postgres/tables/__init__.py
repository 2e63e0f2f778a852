"""The tables in PostgreSQL: rows and statements, by subject."""
