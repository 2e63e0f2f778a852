"""Adapts JSON schemas to what Anthropic can enforce.

https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
"""

from __future__ import annotations

from headrace.encoders.json_schema import transform
from headrace.encoders.text_content import encode_json
from headrace.events import JSONObject

_REFUSED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)
_FORMATS = (
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
)


def adapt_schema(schema: JSONObject) -> JSONObject:
    """Return the schema with the limits that Anthropic refuses as part of the descriptions, so that
    the model still knows of them."""
    return transform(schema, _describe_limits)


def _describe_limits(schema: JSONObject) -> JSONObject:
    limits = {name: schema.pop(name) for name in _REFUSED if name in schema}
    if schema.get("minItems", 0) not in (0, 1):
        limits["minItems"] = schema.pop("minItems")
    if "format" in schema and schema["format"] not in _FORMATS:
        limits["format"] = schema.pop("format")
    if limits:
        words = ", ".join(f"{name}: {encode_json(value)}" for name, value in limits.items())
        before = schema.get("description")
        schema["description"] = f"{before} ({words})" if before else words
    return schema
