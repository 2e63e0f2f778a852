"""What clients bring to a run: names of their own, and tools of their own."""
