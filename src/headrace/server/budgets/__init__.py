"""Budgets for memory that clients make a server use: together, not one by one."""
