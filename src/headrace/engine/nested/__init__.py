"""Sub-agents: agents that another agent calls as tools, in runs that are nested in its run."""
