"""Mutated streams: recorded and authored ones as gateways rewrite, cut and damage them."""
