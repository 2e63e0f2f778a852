"""The journal of a run: rewrite, stamp, log, fold and hand over every event, in this order."""
