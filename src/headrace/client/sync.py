"""The synchronous client of the HTTP API: `AsyncClient` on an event loop in a private thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from headrace.client.answer import Answer, AsyncAnswer
from headrace.client.client import AskOptions, AsyncClient
from headrace.transport.loop_thread import shared_loop

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from headrace.engine import Agent


P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """Return the synchronous version of a method of `AsyncClient`."""

    @wraps(method)
    def call(self: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return shared_loop().run(method(self.asynchronous, *args, **options))

    return call


class Client:
    """A synchronous client of a Headrace server. Use it with `with`, or `close()` it.

    It has the methods of `AsyncClient`, and also works where an event loop is running already.
    """

    def __init__(self, url: str, *, access_token: str | None = None) -> None:
        self.asynchronous = AsyncClient(url, access_token=access_token)
        """The client that does the work, in the event loop of a private thread."""

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
        client.asynchronous = asynchronous
        return client

    @property
    def address(self) -> str:
        """URL of the server that answered last, or empty if that is this process."""
        return self.asynchronous.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        shared_loop().run(self.asynchronous.aclose())

    @contextmanager
    def ask(
        self, message: str | None = None, **options: Unpack[AskOptions]
    ) -> Generator[Answer, None, None]:
        """Ask a question. The context is an `Answer`, whose frames can be iterated.

        Leaving the context early does not end the run. Without a message, the user message
        `parent_id` is answered again.
        """
        with _enter(self.asynchronous.ask(message, **options)) as answer:
            yield answer

    @contextmanager
    def watch(self, event_id: str, after: str = "") -> Generator[Answer, None, None]:
        """Read an answer that was asked for before, after the frame with the id `after`."""
        with _enter(self.asynchronous.watch(event_id, after)) as answer:
            yield answer

    upload = _blocking(AsyncClient.upload)
    cancel = _blocking(AsyncClient.cancel)
    requests = _blocking(AsyncClient.requests)
    waiting_runs = _blocking(AsyncClient.waiting_runs)
    answer_request = _blocking(AsyncClient.answer_request)
    conversations = _blocking(AsyncClient.conversations)
    search = _blocking(AsyncClient.search)
    conversation = _blocking(AsyncClient.conversation)
    rename = _blocking(AsyncClient.rename)
    select = _blocking(AsyncClient.select)
    delete = _blocking(AsyncClient.delete)
    export = _blocking(AsyncClient.export)
    models = _blocking(AsyncClient.models)


@contextmanager
def _enter(context: AbstractAsyncContextManager[AsyncAnswer]) -> Generator[Answer, None, None]:
    loop = shared_loop()
    answer = loop.run(context.__aenter__())
    try:
        yield Answer(answer)
    finally:
        loop.run(context.__aexit__(None, None, None))
