"""Conversations: history across runs, compaction, summaries and snapshots."""
