"""Projections: turn the records of a run into the protocols that clients read.

A projection never changes a record, and what it derives is never logged.
"""
