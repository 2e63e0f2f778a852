"""Processes of `headrace` that start quickly, for tests that start many: one process imports
everything once, and forks one for each that is asked for. What runs is the command itself; only its
imports are saved."""
