"""Ids that clients choose, such as the id of a chat: they are names inside one user and one
protocol."""

from __future__ import annotations

import hashlib


def conversation_id_for(owner: str, door: str, name: str) -> str:
    """Return the id of the conversation that a user's client calls `name`. The same name of another
    user, or in another protocol, is another conversation."""
    return f"conv_{_hash(owner, door, name)}"


def idempotency_key_for(door: str, name: str) -> str:
    """Return the key of the request that starts the run that a client calls `name`, so that it is
    started once."""
    return f"{door}:{_hash(door, name)}"


def _hash(*parts: str) -> str:
    # The lengths keep parts apart whatever they contain.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
