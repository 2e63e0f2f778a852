"""Log lines about runs and tools. They name ids, times and categories, and never content."""
