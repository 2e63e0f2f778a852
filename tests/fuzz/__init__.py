"""Coverage-guided fuzzing of the decoder: `python -m tests.fuzz --seconds 60`."""
