"""The wire grammars: one class each, frames in, facts to the ledger."""
