"""Parts of the OpenAPI document that the paths of several subjects share."""

from __future__ import annotations

from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

STRING: Schema = {"type": "string"}


def operation(
    summary: str, content: Schema, parameters: list[Schema], body: Schema | None = None
) -> Schema:
    """Return an operation that responds with 200 and this content."""
    described: Schema = {
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": {"description": "success", "content": content}, **errors()},
    }
    if body is not None:
        described["requestBody"] = {"required": True, "content": body}
    return described


def errors() -> Schema:
    """Return the error responses that every operation has."""
    content = json_content({"$ref": "#/components/schemas/ErrorResponse"})
    return {
        "4XX": {"description": "what is wrong with the request", "content": content},
        "5XX": {"description": "an error of the server, or when to try again", "content": content},
    }


def json_content(schema: Schema) -> Schema:
    """Return JSON content with this schema."""
    return {"application/json": {"schema": schema}}


def event_stream() -> Schema:
    """Return content that is a stream of frames."""
    event = {
        "description": "server-sent events, each with the id to resume from and one frame",
        "properties": {"id": {"type": "string", "pattern": r"^\d+\.\d+(-\w+)?$"}, "data": STRING},
        "required": ["id", "data"],
    }
    return {"text/event-stream": {"schema": event}}


def path_parameter(name: str) -> Schema:
    """Return a part of the path."""
    return {"name": name, "in": "path", "required": True, "schema": STRING}


def query_parameter(name: str, description: str, **schema: Any) -> Schema:
    """Return a parameter of the query."""
    place = {"name": name, "in": "query", "description": description}
    return {**place, "schema": {**STRING, **schema}}


def header_parameter(name: str, **schema: Any) -> Schema:
    """Return a header of the request."""
    return {"name": name, "in": "header", "schema": {**STRING, **schema}}


def no_content(summary: str, parameters: list[Schema], body: Schema | None = None) -> Schema:
    """Return an operation that responds with 204."""
    described = operation(summary, {}, parameters, body)
    described["responses"] = {"204": {"description": "done"}, **errors()}
    return described
