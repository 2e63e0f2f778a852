"""Bounded, lenient JSON decoding for provider payloads."""
