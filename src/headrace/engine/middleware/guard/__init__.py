"""The guard: whatever middleware makes of events, what is written is a legal run."""
