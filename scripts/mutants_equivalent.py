"""Mutants that no test can kill, because they behave as the original does, each with the reason."""

EQUIVALENT: dict[str, str] = {}
"""Reasons by `Mutant.describe()`: file, function, and the line before and after."""
