"""Signers: add credentials to calls just before they are sent."""
