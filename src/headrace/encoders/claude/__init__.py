"""What requests to Claude have in common, whichever API they are sent to."""
