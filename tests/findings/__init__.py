"""What users and reviewers have found, and the tests that hold the corrections."""
