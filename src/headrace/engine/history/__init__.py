"""The history of a run: how it is grouped, shortened, and kept in part by pins."""
