"""Where the settings of a command come from: options, environment variables, a file, defaults."""

from __future__ import annotations

import os
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from headrace.errors import UsageError

CONFIG_VARIABLE: Final = "HEADRACE_CONFIG"
"""Environment variable that names the file with settings."""
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off", "")


class Setting(NamedTuple):
    """The value of a setting, and where it comes from."""

    name: str
    """Name as in the file, such as `max-runs`."""
    value: Any
    source: str
    """`option`, `default`, the name of an environment variable, or the path of the file."""


class Configuration:
    """The settings of one command, from all sources.

    An option counts before an environment variable, that before the file, and that before the
    default. The names in the file are those of the options without dashes at the start.

    `declare` adds the options to a parser; `positional` is the argument that has no dashes. In
    `pattern`, `NAME` stands for the name of a setting in capitals. `variables` are the settings
    that have a variable of another name too.
    """

    def __init__(
        self,
        declare: Callable[[ArgumentParser], None],
        pattern: str,
        *,
        positional: str,
        variables: Mapping[str, str],
    ) -> None:
        self._parser = _Parser(add_help=False, allow_abbrev=False)
        declare(self._parser)
        self._pattern = pattern
        self._positional = positional
        self._variables = variables
        self.defaults: Mapping[str, Any] = vars(self._parser.parse_args([]))
        """The default of each option, by its name in the result of argparse."""

    def resolve(self, options: Namespace, path: Path | None = None) -> list[Setting]:
        """Return all settings. `options` are those of a parser that was given to `leave_unset()`;
        `path` is the file, which must exist.

        Raises `UsageError` for a file or a variable that has a wrong name or value.
        """
        layers = [
            # A positional argument that may be repeated is empty if it is not given.
            ("option", {k: v for k, v in vars(options).items() if v not in (None, [])}),
            *self._read_variables(),
            *([] if path is None else [(str(path), self._read_file(path))]),
            ("default", self.defaults),
        ]
        settings: list[Setting] = []
        for key in self.defaults:
            source, values = next((s, values) for s, values in layers if key in values)
            settings.append(Setting(key.replace("_", "-"), values[key], source))
        return settings

    def _read_variables(self) -> Iterable[tuple[str, Mapping[str, Any]]]:
        for key in self.defaults:
            for variable in (self._name(key), self._variables.get(key)):
                text = None if variable is None else os.environ.get(variable)
                if variable is None or text is None:
                    continue
                value = _split(text) if isinstance(self.defaults[key], list) else text
                yield variable, {key: self._parse(variable, key, value)}

    def _name(self, key: str) -> str:
        return self._pattern.replace("NAME", key.upper())

    def _read_file(self, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in _load_toml(path).items():
            key = name.replace("-", "_")
            if key not in self.defaults or "_" in name:
                raise UsageError(f"{path}: there is no setting {name!r}{self._suggest(key)}")
            found[key] = self._parse(f"{path}: {name}", key, value)
        return found

    def _suggest(self, key: str) -> str:
        """Return what is probably meant by a wrong name, or how to find the right one."""
        near = get_close_matches(key, self.defaults, 1)
        if near:
            return f": did you mean {near[0].replace('_', '-')!r}?"
        return "; `headrace config` lists all"

    def _parse(self, place: str, key: str, value: Any) -> Any:
        """Return a value of a file or a variable as the option would give it."""
        default = self.defaults[key]
        if default is False:
            return _parse_flag(place, value)
        given = _to_list(value)
        if isinstance(value, list) and not isinstance(default, list):
            raise UsageError(f"{place}: expected one value, got a list")
        if any(isinstance(one, bool | dict | list) for one in given):
            raise UsageError(f"{place}: expected a text or a number, got {value!r}")
        values = [str(one) for one in given]
        option = f"--{key.replace('_', '-')}"
        words = [f"{option}={one}" for one in values]
        if key == self._positional:
            words = ["--", *values]
        try:
            return getattr(self._parser.parse_args(words), key)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None


def leave_unset(command: ArgumentParser) -> None:
    """Make options that are not given None in the result of a parser, so that they can be told from
    options that are given the default."""
    command.set_defaults(**dict.fromkeys(vars(command.parse_args([]))))


class _Parser(ArgumentParser):
    """Raises an error instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def find_config_file(given: str | None) -> Path | None:
    """Return the file with settings: the one that is given, or that the environment names."""
    name = given or os.environ.get(CONFIG_VARIABLE)
    return Path(name) if name else None


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _to_list(value: Any) -> list[Any]:
    """Return a list as it is, and anything else as the only one of a list."""
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def _split(text: str) -> list[str]:
    """Return the values of a variable with several, which are separated by commas."""
    return [one.strip() for one in text.split(",") if one.strip()]


def _parse_flag(place: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in (*_ON, *_OFF):
        raise UsageError(f"{place}: expected true or false, got {value!r}")
    return text in _ON
