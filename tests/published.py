"""The providers' own published types, as judges of our request bodies.

Their packages describe requests as `TypedDict`s (openai, anthropic) and as pydantic models
(google-genai, ollama). Pydantic itself is too kind for a judge: it looks into an `Iterable`
only when somebody iterates, and lets unknown keys of a `TypedDict` pass. So the types are
walked here, strictly: every key known, every required one there, every value of its type.
"""

from __future__ import annotations

import re
import types
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typing_extensions
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

Check = Callable[[Any, str], None]


class Refused(AssertionError):
    """The published types do not take the body; the message says where and why."""


def accepts(dialect: str, body: dict[str, Any]) -> None:
    """Raise `Refused` unless the types that the dialect's provider publishes take the body."""
    _JUDGES[dialect](body, "body")


# --- the providers ----------------------------------------------------------------

# What OpenAI-compatible providers have beside OpenAI's own types: where, and documented by
# whom. Anything else that is not in the types is refused.
_OF_MESSAGE = {
    "reasoning_content": "DeepSeek, Z.ai, Moonshot, Alibaba, llama.cpp",
    "reasoning": "Groq, Together, Cerebras, vLLM, OpenRouter",
    "reasoning_details": "OpenRouter",
    "reasoning_text": "GitHub Copilot",
    "reasoning_opaque": "GitHub Copilot",
}
_OF_CALL = {"extra_content": "Google's OpenAI-compatible address"}
_OF_BODY = {
    "reasoning": "OpenRouter",
    "thinking": "DeepSeek, Z.ai, Moonshot",
    "enable_thinking": "Alibaba",
    "chat_template_kwargs": "vLLM, llama.cpp",
}


# What the API itself puts into results, and its types do not have yet.
_OF_RESULT = {"abort_reason": "code execution of 2026-02-09"}
_OF_ITEM = {
    "image_generation_call": {"prompt": "xAI"},
}


@cache
def _published(path: str) -> Any:
    """A type of a provider's package, imported when it is needed: they are slow to load."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _chat(body: Any, path: str) -> None:
    plain = _without(body, _OF_BODY)
    if "messages" in plain:
        plain["messages"] = [_plain_message(message) for message in plain["messages"]]
    params = "openai.types.chat.completion_create_params:CompletionCreateParamsStreaming"
    _check(plain, _published(params), path)


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    plain = _without(message, _OF_MESSAGE)
    if "tool_calls" in plain:
        plain["tool_calls"] = [_without(call, _OF_CALL) for call in plain["tool_calls"]]
    if plain.get("role") == "assistant" and isinstance(plain.get("content"), list):
        # Mistral's thoughts stand among the content.
        plain["content"] = [e for e in plain["content"] if e.get("type") != "thinking"]
    return plain


def _without(body: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


def _anthropic(body: Any, path: str) -> None:
    """The stable types first; only the beta ones know MCP, compaction and fallback blocks.
    Both are of API version 2026-10-21, which has no sampling options; ours is 2023-06-01."""
    plain = _without(_pruned(body), ("temperature", "top_p", "top_k"))
    try:
        _check(plain, _published(f"anthropic.types.{_MESSAGES}"), path)
    except Refused as stable:
        try:
            _check(plain, _published(f"anthropic.types.beta.{_MESSAGES}"), path)
        except Refused as beta:
            raise Refused(f"{stable}\nbeta: {beta}") from None


_MESSAGES = "message_create_params:MessageCreateParamsStreaming"


def _pruned(value: Any) -> Any:
    if isinstance(value, list):
        return [_pruned(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _pruned(v) for name, v in value.items() if name not in _OF_RESULT}
    return value


def _responses(body: Any, path: str) -> None:
    items = [_without(item, _OF_ITEM.get(item.get("type", ""), ())) for item in body["input"]]
    params = "openai.types.responses.response_create_params:ResponseCreateParamsStreaming"
    _check(body | {"input": items}, _published(params), path)


_GEMINI = {
    "contents": "Content",
    "systemInstruction": "Content",
    "tools": "Tool",
    "toolConfig": "ToolConfig",
    "generationConfig": "GenerationConfig",
}


def _gemini(body: Any, path: str) -> None:
    """The package has no type for the body, only for what is in it."""
    _expect(bool(body.get("contents")), f"{path}.contents", "is missing")
    for name, value in body.items():
        _expect(name in _GEMINI, f"{path}.{name}", "no such key")
        hint = _published(f"google.genai.types:{_GEMINI[name]}")
        _check(value, _list_of(hint) if isinstance(value, list) else hint, f"{path}.{name}")


def _ollama(body: Any, path: str) -> None:
    """The package takes any mapping for a message and any for options; its server reads
    only what its types have."""
    plain = _without(body, ("messages", "tools", "options"))
    _check(plain, _published("ollama._types:ChatRequest"), path)
    for index, message in enumerate(body.get("messages", ())):
        where = f"{path}.messages[{index}]"
        # The class of an image writes itself as a text.
        _check(message.get("images", []), list[str], f"{where}.images")
        _check(_without(message, ("images",)), _published("ollama._types:Message"), where)
    _check(body.get("options", {}), _published("ollama._types:Options"), f"{path}.options")
    for index, tool in enumerate(body.get("tools", ())):
        # Its class for JSON schema has a few keywords; the server takes all.
        function = _without(tool["function"], ("parameters",))
        where = f"{path}.tools[{index}]"
        _check(tool | {"function": function}, _published("ollama._types:Tool"), where)


def _ollama_generate(body: Any, path: str) -> None:
    plain = _without(body, ("images", "options"))
    _check(plain, _published("ollama._types:GenerateRequest"), path)
    _check(body.get("images", []), list[str], f"{path}.images")
    _check(body.get("options", {}), _published("ollama._types:Options"), f"{path}.options")


def _interactions(body: Any, path: str) -> None:
    """The published types; they do not have the signature of a call, which streams have."""
    steps = [
        _without(step, ("signature",)) if step.get("type") == "function_call" else step
        for step in body.get("input", ())
    ]
    types_module = "google.genai.interactions"
    _expect(bool(steps), f"{path}.input", "is missing")
    step_type = _published("google.genai._gaos.types.interactions.step:StepParam")
    _check(steps, _list_of(step_type), f"{path}.input")
    plain = _without(body, ("response_format", "input"))
    _check(plain, _published(f"{types_module}:CreateModelInteractionParam"), path)
    if "response_format" in body:
        wanted = dict(body["response_format"])
        # The name of the field in Python.
        wanted["schema_"] = wanted.pop("schema")
        _check(wanted, _published(f"{types_module}:TextResponseFormatParam"), path)


_NO_FIELD = re.compile(r'no field named "(\w+)" at "GetCompletionsRequest([^"]*)"')
_NO_VALUE = re.compile(r'(.*) at "?GetCompletionsRequest([^" ]*)"?', re.DOTALL)


def _xai(body: Any, path: str) -> None:
    """The published message itself reads the body; it has no field that must be there."""
    for name in ("model", "messages"):
        _expect(bool(body.get(name)), f"{path}.{name}", "is missing")
    parse = _published("google.protobuf.json_format:ParseDict")
    refusal = _published("google.protobuf.json_format:ParseError")
    try:
        parse(body, _published("xai_sdk.proto:chat_pb2").GetCompletionsRequest())
    except refusal as error:
        told = str(error)
    else:
        return
    if found := _NO_FIELD.search(told):
        raise Refused(f"{path}{found[2]}.{found[1]}: no such key")
    found = _NO_VALUE.search(told)
    raise Refused(f"{path}{found[2]}: is no value: {found[1]}" if found else told)


def _bedrock(body: Any, path: str) -> None:
    """By the service model of botocore, which checks requests before they are sent."""
    report = ParamValidator().validate({"modelId": "m", **body}, _converse_shape())
    for reason, name, details in report._errors:
        _refuse_by_botocore(reason, f"{path}{name}", details)


@cache
def _converse_shape() -> Any:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.operation_model("ConverseStream").input_shape


def _refuse_by_botocore(reason: str, path: str, details: dict[str, Any]) -> None:
    if reason == "unknown field":
        path = f"{path}.{details['unknown_param']}"
    wanted = details.get("required_name") or details.get("valid_types") or details
    raise Refused(f"{path}: is no value for botocore ({reason}): {wanted}")


def _cohere(body: Any, path: str) -> None:
    _check(body, _cohere_params(), path)


@cache
def _cohere_params() -> Any:
    """The parameters of the published client, as the fields of a body."""
    client = _published("cohere.v2.client:V2Client")
    hints = get_type_hints(client.chat_stream, include_extras=True)
    unsent = ("request_options", "return")
    required = {name: hints.pop(name) for name in ("model", "messages")}
    fields = {name: hint for name, hint in hints.items() if name not in unsent} | {"stream": bool}
    make: Any = typing_extensions.TypedDict
    needed = {name: typing_extensions.Required[hint] for name, hint in required.items()}
    return make("ChatStream", {**needed, **fields}, total=False)


_JUDGES: dict[str, Check] = {
    "chat": _chat,
    "anthropic": _anthropic,
    "responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
    "xai": _xai,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "interactions": _interactions,
    "ollama-generate": _ollama_generate,
}

# --- any type ---------------------------------------------------------------------


def _expect(is_right: bool, path: str, why: str) -> None:
    if not is_right:
        raise Refused(f"{path}: {why}")


def _list_of(hint: Any) -> Any:
    return types.GenericAlias(list, (hint,))


def _check(value: Any, hint: Any, path: str) -> None:
    _judge(hint)(value, path)


_LISTS = ("list", "Iterable", "Sequence", "SequenceNotStr")
_NUMBERS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    type(None): (type(None),),
}


@cache
def _judge(hint: Any) -> Check:
    origin = get_origin(hint)
    if hint in (Any, object):
        return lambda value, path: None
    if origin in (Annotated, typing_extensions.Required, typing_extensions.NotRequired):
        return _judge(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return _union(get_args(hint))
    if origin is Literal:
        return _literal(get_args(hint))
    if getattr(origin, "__name__", "") in _LISTS:
        return _list(get_args(hint)[0])
    if origin in (dict, Mapping):
        return _mapping(get_args(hint)[1])
    if isinstance(hint, typing_extensions.TypeAliasType):
        return _judge(hint.__value__)
    return _plain(hint)


def _plain(hint: Any) -> Check:
    if typing_extensions.is_typeddict(hint):
        return _Fields(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _literal(tuple(member.value for member in hint))
    if hasattr(hint, "model_fields"):
        return _Fields(hint)
    if hint is bytes:
        return _base64
    if hint is dict:
        return _mapping(Any)
    return _scalar(hint)


def _scalar(hint: Any) -> Check:
    # Google's types are open: any other text stands beside the known ones.
    is_open = getattr(hint, "__name__", "") == "UnrecognizedStr"
    wanted = _NUMBERS.get(str if is_open else hint)
    if wanted is None:
        return lambda value, path: _expect(False, path, f"is no {hint}")

    def check(value: Any, path: str) -> None:
        is_right = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
        _expect(is_right, path, f"is no {hint.__name__} but {_brief(value)}")

    return check


def _literal(values: tuple[Any, ...]) -> Check:
    def check(value: Any, path: str) -> None:
        _expect(value in values, path, f"is none of {values} but {_brief(value)}")

    return check


def _base64(value: Any, path: str) -> None:
    _expect(isinstance(value, str), path, "is no base64")
    try:
        urlsafe_b64decode(value.replace("+", "-").replace("/", "_"))
    except ValueError as error:
        raise Refused(f"{path}: {error}") from None


def _list(hint: Any) -> Check:
    def check(value: Any, path: str) -> None:
        _expect(isinstance(value, list), path, f"is no list but {_brief(value)}")
        for index, entry in enumerate(value):
            _check(entry, hint, f"{path}[{index}]")

    return check


def _mapping(hint: Any) -> Check:
    def check(value: Any, path: str) -> None:
        _expect(isinstance(value, dict), path, f"is no object but {_brief(value)}")
        for name, entry in value.items():
            _check(entry, hint, f"{path}.{name}")

    return check


def _union(hints: tuple[Any, ...]) -> Check:
    def check(value: Any, path: str) -> None:
        complaints: list[str] = []
        for hint in hints:
            try:
                _check(value, hint, path)
            except Refused as refused:
                complaints.append(str(refused))
            else:
                return
        raise Refused(_best(complaints, path))

    return check


def _best(complaints: list[str], path: str) -> str:
    """Of all variants' complaints that of the one that went deepest, so not the one about
    its `type` or `role`."""
    named = [c for c in complaints if not c.startswith((f"{path}.type:", f"{path}.role:"))]
    return max(named or complaints, key=lambda c: len(c.partition(":")[0]))


class _Fields:
    """A `TypedDict` or a pydantic model: the keys that it knows and those that it needs."""

    def __init__(self, hint: Any) -> None:
        self._name = hint.__name__
        self._is_loose = _extra_of(hint) == "allow"
        self._fields = (_model_fields if hasattr(hint, "model_fields") else _typed_fields)(hint)
        self._required = [name for name, (_, is_required) in self._fields.items() if is_required]

    def __call__(self, value: Any, path: str) -> None:
        _expect(isinstance(value, dict), path, f"is no {self._name} but {_brief(value)}")
        # The tag first: its complaint tells the variants of a union apart.
        for name in sorted(value, key=lambda name: name not in ("type", "role")):
            known = self._fields.get(name)
            _expect(
                known is not None or self._is_loose, f"{path}.{name}", f"no key of {self._name}"
            )
            if known is not None:
                _check(value[name], known[0], f"{path}.{name}")
        for name in self._required:
            _expect(name in value, f"{path}.{name}", f"is missing in {self._name}")


def _extra_of(hint: Any) -> Any:
    return getattr(hint, "__pydantic_config__", {}).get("extra")


def _typed_fields(hint: Any) -> dict[str, tuple[Any, bool]]:
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    return {name: (told, _is_required(told)) for name, told in hints.items()}


def _is_required(hint: Any) -> bool:
    return get_origin(hint) is typing_extensions.Required


def _model_fields(hint: Any) -> dict[str, tuple[Any, bool]]:
    return {
        field.alias or name: (field.annotation, field.is_required())
        for name, field in hint.model_fields.items()
    }


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]} …"
