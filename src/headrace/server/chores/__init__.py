"""What a server does from time to time: about runs, files and counts, and about users."""
