"""Runs that wait: suspended ones, those of other servers, and those on the way. And questions that
wait for the end of a run."""
