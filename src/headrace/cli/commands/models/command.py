"""Runs `headrace models`: lists the models that a provider offers."""

from __future__ import annotations

import sys
from argparse import Namespace

import msgspec

from headrace.cli.terminal.safe_text import one_line
from headrace.errors import RequestFailed, UsageError
from headrace.turn.inquiry import ListedModel, list_models


def run(options: Namespace) -> int:
    """Print a line for each model, or JSON lines."""
    try:
        models = list_models(options.provider, base_url=options.base_url)
    except UsageError as error:
        print(f"headrace models: {error}", file=sys.stderr)
        return 2
    except RequestFailed as error:
        print(f"headrace models: {error}", file=sys.stderr)
        return 1
    for model in models:
        line = msgspec.json.encode(model).decode() if options.json else _line(options, model)
        print(line)
    if not models:
        print(f"headrace models: {options.provider} lists no models", file=sys.stderr)
    return 0


def _line(options: Namespace, model: ListedModel) -> str:
    title = None if model.title in (None, model.id) else model.title
    size = None if model.context_tokens is None else f"{model.context_tokens:,} tokens"
    facts = " · ".join(filter(None, (title, size)))
    name = f"{options.provider}:{model.id}"
    return one_line(f"{name:<44}  {facts}" if facts else name)
