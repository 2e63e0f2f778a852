"""The `headrace chat` command: a conversation in the terminal."""

from headrace.cli.commands.chat.command import run

__all__ = ["run"]
