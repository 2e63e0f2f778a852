"""Questions about models that need no turn: which ones a provider has, and how many tokens a
request would take."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, Unpack, cast
from urllib.parse import quote, urlencode

import msgspec

from headrace.errors import RequestFailed, UsageError
from headrace.events import JSONObject
from headrace.prices.estimate import estimate_body_tokens
from headrace.providers import Endpoint, resolve
from headrace.transport.loop_thread import shared_loop
from headrace.transport.transport import HTTPCall
from headrace.turn.api import Input, TurnArguments, prepare_turn
from headrace.turn.fallback import AnyModel
from headrace.turn.model import encode_body
from headrace.turn.target import TurnTarget
from headrace.wire.json.payload import REFUSED
from headrace.wire.json.value import as_object, as_objects, as_text

# Where each dialect lists its models; the others have no list.
_MODEL_LISTS = {
    "chat": "/models",
    "responses": "/models",
    "anthropic": "/v1/models?limit=1000",
    "gemini": "/models?pageSize=1000",
    "interactions": "/models?pageSize=1000",
    "ollama": "/api/tags",
    "cohere": "/v1/models?page_size=1000",
}
_MAX_PAGES = 20
_CONTEXT_FIELDS = (
    "context_window",
    "context_length",
    "max_context_length",
    "inputTokenLimit",
    "max_input_tokens",
    "max_model_len",
)
# Fields of a request that Anthropic and OpenAI take to count tokens.
_ANTHROPIC_FIELDS = (
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
)
_OPENAI_FIELDS = ("model", "input", "instructions", "tools", "tool_choice", "text", "reasoning")


class ListedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model that a provider offers."""

    id: str
    """Name of the model; `provider:id` is its model string."""
    title: str | None = None
    """Display name, if the provider gives one."""
    context_tokens: int | None = None
    """Most input tokens, if the provider says so."""


class TokenCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many input tokens a request has."""

    tokens: int
    is_estimated: bool = False
    """Whether the provider cannot count, so that the number is estimated from the characters."""


class _Requests(Protocol):
    """A transport for short requests."""

    async def fetch(self, call: HTTPCall, *, method: str) -> bytes: ...
    async def aclose(self) -> None: ...


async def list_models_async(
    provider: str, *, base_url: str | None = None, api_key: str | None = None
) -> list[ListedModel]:
    """Asynchronous version of `list_models()`."""
    transport = _new_transport()
    try:
        return await _list_models(transport, provider, base_url, api_key)
    finally:
        await transport.aclose()


def list_models(
    provider: str, *, base_url: str | None = None, api_key: str | None = None
) -> list[ListedModel]:
    """Return the models that a provider offers, sorted by id.

    Raises `UsageError` for a provider without a list of models, and `RequestFailed` if it cannot be
    asked.
    """
    return shared_loop().run(list_models_async(provider, base_url=base_url, api_key=api_key))


async def count_tokens_async(
    model: AnyModel, input: Input, **arguments: Unpack[TurnArguments]
) -> TokenCount:
    """Asynchronous version of `count_tokens()`."""
    targets = prepare_turn(model, input, arguments)
    try:
        return await count_target_tokens(targets[0])
    finally:
        for target in targets:
            await target.model.aclose()


async def count_target_tokens(target: TurnTarget) -> TokenCount:
    """Return how many input tokens the request of a target has. The provider is asked if it can
    count and is reached over HTTP; otherwise the number is estimated."""
    model, endpoint = target.model, target.model.endpoint
    body = encode_body(endpoint.provider, target.request)
    found = _find_counter(
        endpoint.provider.name, endpoint.provider.dialect, target.request.model, body
    )
    url = None if found is None else _replace_path(endpoint, found[0])
    if found is None or url is None or not hasattr(model.transport, "fetch"):
        tokens = estimate_body_tokens(msgspec.json.encode(body))
        return TokenCount(tokens=tokens, is_estimated=True)
    _, fields, name = found
    call = HTTPCall(
        url=url,
        headers=target.first_call.headers,
        body=msgspec.json.encode(fields),
        sign=endpoint.sign,
    )
    return await _ask_counter(cast("_Requests", model.transport), call, name)


def _replace_path(endpoint: Endpoint, path: str) -> str | None:
    """Return the address of another path at the same provider, or None if it is not known. A query
    that belongs to the address and not to the path is kept."""
    name = quote(endpoint.model.removeprefix("models/"), safe="/@:.-")
    own, _, own_query = endpoint.provider.path.partition("?")
    own = own.replace("{model}", name)
    base, _, query = endpoint.url.partition("?")
    if not base.endswith(own):
        return None
    kept = query.removeprefix(own_query).removeprefix("&")
    return base.removesuffix(own) + path.replace("{model}", name) + (f"?{kept}" if kept else "")


async def _ask_counter(transport: _Requests, call: HTTPCall, name: str) -> TokenCount:
    count = _parse(await transport.fetch(call, method="POST")).get(name)
    if not isinstance(count, int):
        raise RequestFailed("the answer has no number of tokens", category="protocol")
    return TokenCount(tokens=count)


def count_tokens(model: AnyModel, input: Input, **arguments: Unpack[TurnArguments]) -> TokenCount:
    """Return how many input tokens a request would have. Takes the arguments of `stream()`; of a
    `Fallback`, the first model is asked.

    OpenAI, Anthropic and Gemini count by themselves. For every other provider, and for a transport
    that only plays or replays streams, the number is estimated from the characters, and says so.
    """
    return shared_loop().run(count_tokens_async(model, input, **arguments))


def _find_counter(
    provider: str, dialect: str, model: str, body: JSONObject
) -> tuple[str, JSONObject, str] | None:
    """Return where a provider counts tokens, what it is sent, and the field with the number."""
    if provider == "anthropic":
        fields = {name: body[name] for name in _ANTHROPIC_FIELDS if name in body}
        return "/v1/messages/count_tokens", fields, "input_tokens"
    if provider in ("openai", "azure"):
        fields = {name: body[name] for name in _OPENAI_FIELDS if name in body}
        return "/responses/input_tokens", fields, "input_tokens"
    if dialect == "gemini" and provider == "gemini":
        request = {"model": f"models/{model.removeprefix('models/')}", **body}
        return "/models/{model}:countTokens", {"generateContentRequest": request}, "totalTokens"
    return None


async def _list_models(
    transport: _Requests, provider: str, base_url: str | None, api_key: str | None
) -> list[ListedModel]:
    model = f"{provider}:any"
    row = resolve(model, base_url=base_url, api_key=api_key).provider
    if row.is_rehearsal:
        return [ListedModel(id="any", title=row.title)]
    path = None if row.auth == "aws" or row.name == "vertex" else _MODEL_LISTS.get(row.dialect)
    if path is None:
        raise UsageError(f"{row.title} has no list of models that can be read")
    found: dict[str, ListedModel] = {}
    more = ""
    for _ in range(_MAX_PAGES):
        where = resolve(model, base_url=base_url, api_key=api_key, path=path + more)
        call = HTTPCall(url=where.url, headers=where.headers, body=b"", sign=where.sign)
        page = _parse(await transport.fetch(call, method="GET"))
        for entry in as_objects(page.get("data")) or as_objects(page.get("models")):
            listed = _read_model(entry)
            found[listed.id] = listed
        more = _find_next(page)
        if not more:
            break
    return sorted(found.values(), key=lambda listed: listed.id)


def _read_model(entry: JSONObject) -> ListedModel:
    name = as_text(entry.get("id")) or as_text(entry.get("name")) or as_text(entry.get("model"))
    sizes = [entry.get(field) for field in _CONTEXT_FIELDS]
    title = as_text(entry.get("display_name")) or as_text(entry.get("displayName"))
    return ListedModel(
        id=(name or "").removeprefix("models/"),
        title=title or None,
        context_tokens=next((size for size in sizes if isinstance(size, int)), None),
    )


def _find_next(page: JSONObject) -> str:
    """Return the query for the next page, or an empty text."""
    if page.get("has_more") and page.get("last_id"):
        return "&" + urlencode({"after_id": page["last_id"]})
    token = page.get("nextPageToken")
    return "&" + urlencode({"pageToken": token}) if token else ""


def _parse(body: bytes) -> JSONObject:
    try:
        return as_object(cast("object", msgspec.json.decode(body)))
    except REFUSED:
        raise RequestFailed("the answer is not JSON", category="protocol") from None


def _new_transport() -> _Requests:
    try:
        transport: _Requests = import_module("headrace.transport.http").HTTPTransport()
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing: install headrace[http]") from None
    return transport
