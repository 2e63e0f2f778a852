"""Users of a server: who a request belongs to, and how people sign in."""
