"""Other vocabularies for the same records. A projection never changes a record, and what it
derives is never logged."""
