"""Typed results: answers as values of a Python type, checked, and readable while they grow."""

from headrace.typed.output_type import Mismatch, OutputType
from headrace.typed.partial_json import PartialJSON
from headrace.typed.plan import OutputPlan, plan_output

__all__ = ["Mismatch", "OutputPlan", "OutputType", "PartialJSON", "plan_output"]
