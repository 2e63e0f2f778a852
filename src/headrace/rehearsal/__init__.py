"""A model that plays a script, as real wire bytes of a chosen dialect.

Public as `headrace.testing`.
"""
