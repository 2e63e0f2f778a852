"""Input of the commands: recorded streams and stored runs, found and opened."""
