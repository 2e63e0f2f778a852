"""Looking after the stored data: checks, cleaning up, and copies."""
