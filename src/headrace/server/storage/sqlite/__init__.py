"""SQLite: the file, its connections and threads, and the tables of the log."""
