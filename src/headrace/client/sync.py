"""The synchronous client of the HTTP API: `AsyncClient` on an event loop in a private thread."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, Unpack

from headrace.client.answer import Answer, AsyncAnswer
from headrace.client.client import AskOptions, AsyncClient
from headrace.server.api import MAX_PAGE, ConversationDetail, ModelInfo
from headrace.server.storage.store.store import Conversation
from headrace.transport.loop_thread import shared_loop

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from headrace.engine import Agent


class Client:
    """A synchronous client of a Headrace server. Use it with `with`, or `close()` it.

    It has the methods of `AsyncClient`, and also works where an event loop is running already.
    """

    def __init__(self, url: str, *, access_token: str | None = None) -> None:
        self._client = AsyncClient(url, access_token=access_token)

    @classmethod
    def in_process(cls, app: Starlette, *, access_token: str | None = None) -> Self:
        """Return a client of an application of `create_app()` that is not open yet.

        The application runs in the thread of the client, which opens and closes it.
        """
        return cls._from(AsyncClient.in_process(app, access_token=access_token))

    @classmethod
    def for_folder(
        cls,
        data: str | Path,
        agent: Callable[[], Agent],
        *,
        access_token: str | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> Self:
        """Return a client of a data folder; see `AsyncClient.for_folder()`."""
        client = AsyncClient.for_folder(data, agent, access_token=access_token, on_wait=on_wait)
        return cls._from(client)

    @classmethod
    def _from(cls, asynchronous: AsyncClient) -> Self:
        client = cls.__new__(cls)
        client._client = asynchronous
        return client

    @property
    def address(self) -> str:
        """URL of the server that answered last, or empty if that is this process."""
        return self._client.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        shared_loop().run(self._client.aclose())

    @contextmanager
    def ask(
        self, message: str | None = None, **options: Unpack[AskOptions]
    ) -> Generator[Answer, None, None]:
        """Ask a question. The context is an `Answer`, whose frames can be iterated.

        Leaving the context early does not end the run. Without a message, the user message
        `parent_id` is answered again.
        """
        with _enter(self._client.ask(message, **options)) as answer:
            yield answer

    @contextmanager
    def watch(self, event_id: str, after: str = "") -> Generator[Answer, None, None]:
        """Read an answer that was asked for before, after the frame with the id `after`."""
        with _enter(self._client.watch(event_id, after)) as answer:
            yield answer

    def cancel(self, event_id: str) -> bool:
        """Cancel the run that writes this answer. Return False if it was over already."""
        return shared_loop().run(self._client.cancel(event_id))

    def conversations(self, limit: int = MAX_PAGE) -> list[Conversation]:
        """Return up to `limit` conversations, the most recently used first."""
        return shared_loop().run(self._client.conversations(limit))

    def search(self, words: str, limit: int = MAX_PAGE) -> list[Conversation]:
        """Return up to `limit` conversations with these words, the best matches first."""
        return shared_loop().run(self._client.search(words, limit))

    def conversation(self, conversation_id: str) -> ConversationDetail:
        """Return a conversation with its messages and the answers that are being written."""
        return shared_loop().run(self._client.conversation(conversation_id))

    def rename(self, conversation_id: str, title: str) -> Conversation:
        """Set the title of a conversation."""
        return shared_loop().run(self._client.rename(conversation_id, title))

    def select(self, conversation_id: str, leaf_id: str) -> Conversation:
        """Switch to the branch that ends with this message."""
        return shared_loop().run(self._client.select(conversation_id, leaf_id))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation; its live runs are cancelled."""
        shared_loop().run(self._client.delete(conversation_id))

    def export(self, conversation_id: str, format: Literal["json", "markdown"] = "json") -> str:
        """Export a conversation: all branches as JSON, or the one that is shown as Markdown."""
        return shared_loop().run(self._client.export(conversation_id, format))

    def models(self) -> list[ModelInfo]:
        """Return the models of the server. The first one is the default."""
        return shared_loop().run(self._client.models())


@contextmanager
def _enter(context: AbstractAsyncContextManager[AsyncAnswer]) -> Generator[Answer, None, None]:
    loop = shared_loop()
    answer = loop.run(context.__aenter__())
    try:
        yield Answer(answer)
    finally:
        loop.run(context.__aexit__(None, None, None))
