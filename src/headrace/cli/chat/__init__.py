"""`headrace chat`: a conversation in the terminal."""

from headrace.cli.chat.command import run

__all__ = ["run"]
