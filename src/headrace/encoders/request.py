"""The request for one turn, before it is encoded: messages, tools and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, TypedDict, cast

import msgspec

from headrace.encoders.cache_point import CacheSetting
from headrace.encoders.provider_tool import ProviderTool
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.wire.json.value import as_object

Verbosity: TypeAlias = Literal["low", "medium", "high"]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard to think; every provider's own knob is mapped from it."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call, as it is described in a request."""

    name: str
    """Name by which the model calls the tool."""
    description: str = ""
    """When to use the tool, for the model."""
    parameters: JSONObject = msgspec.field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    """JSON schema of the arguments."""
    is_strict: bool = False
    """Ask for arguments that match the schema exactly, if the provider offers it."""


class OutputSchema(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON schema for the answer."""

    schema: JSONObject
    """The JSON schema."""
    name: str = "answer"
    """Name of the schema for the provider."""
    is_strict: bool = True
    """Constrain the model to the schema, if the provider offers it. Such a schema requires every
    field and forbids others."""


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options of a request. None leaves the choice to the provider."""

    max_tokens: int | None = None
    """Maximum length of the answer; for most models this includes reasoning."""
    temperature: float | None = None
    """Sampling temperature."""
    top_p: float | None = None
    """Share of the most likely tokens to sample from."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer."""
    seed: int | None = None
    """Seed for repeatable answers, as far as the provider can."""
    effort: Effort | None = None
    """How hard to think; see the table of efforts."""
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the one tool to call."""
    parallel_calls: bool | None = None
    """Whether several calls may come in one turn; ignored without tools."""
    output: OutputSchema | None = None
    """JSON schema that the answer must match."""
    logprobs: bool | None = None
    """Whether the log-probabilities of the text are sent and kept, in `provider_data`."""
    top_logprobs: int | None = None
    """How many of the most likely tokens are sent for each position; asks for `logprobs` too."""
    top_k: int | None = None
    """Number of the most likely tokens to sample from."""
    frequency_penalty: float | None = None
    """How much less likely a token becomes with every time it was used."""
    presence_penalty: float | None = None
    """How much less likely a token becomes once it was used."""
    logit_bias: dict[str, int] | None = None
    """What is added to the scores of single tokens, by token id."""
    verbosity: Verbosity | None = None
    """How long the answer is to be, for models that have the option."""
    modalities: tuple[str, ...] = ()
    """What the model may answer with, such as `text`, `image` or `audio`."""
    user: str | None = None
    """Your id of the end user, for the provider's protection against abuse."""
    cache: CacheSetting | None = None
    """Whether the provider is to cache the beginning of the conversation, and for how long: `True`,
    `5m`, `1h` or `24h`. Where a provider wants to be told the places, they are chosen."""
    prompt_cache_key: str | None = None
    """Groups requests that begin in the same way, for providers that cache by themselves."""
    compact_at: int | None = None
    """Number of input tokens from which the provider replaces the beginning of a conversation by a
    summary of its own."""
    clear_tool_results_at: int | None = None
    """Number of input tokens from which the provider removes old results of tools."""
    service_tier: str | None = None
    """The provider's class of service for the request, such as `flex` or `priority`."""
    betas: tuple[str, ...] = ()
    """Beta features to switch on, by the names that Anthropic gives them."""
    extra_body: JSONObject = {}
    """Fields to add to the JSON of the request, as they are. Objects are merged; anything else
    replaces what Headrace would send."""
    extra_headers: dict[str, str] = {}
    """Headers to add to the request. They are never shown or logged."""

    def __repr__(self) -> str:
        fields = (
            f"{name}={'…' if name == 'extra_headers' else repr(getattr(self, name))}"
            for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True)
            if getattr(self, name) != _default_of(default)
        )
        return f"Options({', '.join(fields)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Hide the headers in tracebacks that rich prints with local variables."""
        return [("options", repr(self))]

    @property
    def wants_logprobs(self) -> bool:
        """Whether log-probabilities are asked for."""
        return bool(self.logprobs or self.top_logprobs)


def merge_options(options: Options, changes: Options) -> Options:
    """Return the options with those of `changes` that are set."""
    names, defaults = Options.__struct_fields__, Options.__struct_defaults__
    changed = {
        name: getattr(changes, name)
        for name, default in zip(names, defaults, strict=True)
        if getattr(changes, name) != _default_of(default)
    }
    return msgspec.structs.replace(options, **changed) if changed else options


class OptionArguments(TypedDict, total=False):
    """The fields of `Options` as keyword arguments, for signatures that editors can complete."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    stop: str | Sequence[str]
    seed: int | None
    effort: Effort | None
    tool_choice: str | None
    parallel_calls: bool | None
    output: OutputSchema | None
    logprobs: bool | None
    top_logprobs: int | None
    top_k: int | None
    frequency_penalty: float | None
    presence_penalty: float | None
    logit_bias: dict[str, int] | dict[int, int] | None
    verbosity: Verbosity | None
    modalities: Sequence[str]
    user: str | None
    cache: CacheSetting | None
    prompt_cache_key: str | None
    compact_at: int | None
    clear_tool_results_at: int | None
    service_tier: str | None
    betas: Sequence[str]
    extra_body: JSONObject
    extra_headers: dict[str, str]


_LISTS = ("stop", "modalities", "betas")


def _default_of(default: Any) -> Any:
    return default.factory() if hasattr(default, "factory") else default


def parse_options(arguments: Mapping[str, Any]) -> Options:
    """Make options of keyword arguments. Raises `UsageError` for an unknown name, with the
    nearest known one, and for a wrong value."""
    known = Options.__struct_fields__
    if "n" in arguments:
        raise UsageError("there is no option 'n': ask several times at once to get several answers")
    for name in sorted(arguments.keys() - set(known)):
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? The" if near else "the"
        raise UsageError(f"there is no option {name!r}: {hint} options are {', '.join(known)}")
    given = dict(arguments)
    for name in _LISTS:
        if isinstance(given.get(name), str):
            given[name] = (given[name],)
    bias = given.get("logit_bias")
    if isinstance(bias, dict):  # tokenizers have numbers for tokens, and JSON has texts for keys
        given["logit_bias"] = {
            str(token) if type(token) is int else token: value
            for token, value in cast("dict[object, object]", bias).items()
        }
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise UsageError(f"an option has a wrong value: {error}") from None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one turn. `provider` and `model` decide which seals may be sent back."""

    model: str
    """The provider's name of the model."""
    messages: tuple[Message, ...]
    """The conversation; the last message is the newest."""
    provider: str | None = None
    """Name of the provider in the catalog."""
    instructions: str | None = None
    """Instructions that precede the conversation."""
    tools: tuple[ToolSpec, ...] = ()
    """Tools that the model may call."""
    provider_tools: tuple[ProviderTool, ...] = ()
    """Tools that the provider runs itself."""
    options: Options = Options()
    """Everything else that can be set."""

    @property
    def tool_choice(self) -> str | None:
        """The tool choice, or None without tools. Raises `UsageError` for a tool that does not
        exist."""
        choice = self.options.tool_choice
        names = [tool.name for tool in self.tools]
        if choice in (None, "auto", "none"):
            return choice if names else None
        if choice != "required" and choice not in names:
            raise UsageError(
                f"no tool {choice!r} to choose: there are {', '.join(names) or 'none'}"
            )
        if not names:
            raise UsageError("tool_choice='required' needs a tool")
        return choice

    @property
    def parallel_calls(self) -> bool | None:
        """Whether several calls may come in one turn; None without tools, because providers reject
        it then."""
        return self.options.parallel_calls if self.tools else None


def merge_body(body: JSONObject, extra: JSONObject) -> JSONObject:
    """Return the body with more fields: objects are merged, anything else is replaced."""
    merged = dict(body)
    for name, value in extra.items():
        before = as_object(merged.get(name))
        is_object = before and isinstance(value, dict)
        merged[name] = merge_body(before, as_object(cast("object", value))) if is_object else value
    return merged


def encode_logprobs(options: Options) -> JSONObject:
    """Return the request for log-probabilities, under the names that OpenAI gave these fields."""
    if not options.wants_logprobs:
        return {}
    top = {} if options.top_logprobs is None else {"top_logprobs": options.top_logprobs}
    return {"logprobs": True, **top}


def encode_tool_fields(
    request: Request,
    encode: Callable[[ToolSpec], JSONObject],
    encode_choice: Callable[[str], Any],
    provider_tools: Sequence[JSONObject] = (),
) -> JSONObject:
    """Return the tools, the choice among them, and whether they may be called in parallel, under
    the names that OpenAI gave these fields."""
    fields: JSONObject = {"tools": [*map(encode, request.tools), *provider_tools]}
    if request.tool_choice is not None:
        fields["tool_choice"] = encode_choice(request.tool_choice)
    if request.parallel_calls is not None:
        fields["parallel_tool_calls"] = request.parallel_calls
    return fields if fields["tools"] else {}
