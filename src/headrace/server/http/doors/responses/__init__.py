"""The door for clients of OpenAI's Responses API and of Open Responses."""

from headrace.server.http.doors.responses.routes import Responses

__all__ = ["Responses"]
