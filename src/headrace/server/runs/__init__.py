"""Live runs of the server: execution, subscriptions, quotas and recovery."""
