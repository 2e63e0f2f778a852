"""The scripted model and the rehearsal model: deterministic stand-ins that send real wire bytes.

The scripted model is public as `headrace.testing`.
"""
