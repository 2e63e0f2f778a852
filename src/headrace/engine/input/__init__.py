"""Input from outside while a run goes on: answers to its requests, and messages of the user."""
