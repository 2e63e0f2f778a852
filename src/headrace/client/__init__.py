"""A client for the HTTP API of a Headrace server, over HTTP or in the same process."""

from headrace.client.answer import Answer, AsyncAnswer
from headrace.client.client import AskOptions, AsyncClient
from headrace.client.connection import ClientError
from headrace.client.sync import Client

__all__ = ["Answer", "AskOptions", "AsyncAnswer", "AsyncClient", "Client", "ClientError"]
