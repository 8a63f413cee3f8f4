"""The user's settings file and our own directories; knows no command, agent or theme by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

APP = "sessionbrowse"
INDEX_FILE = "index.sqlite"
"""Name of the index in our cache directory."""

DateStyle = Literal["age", "date", "iso"]
TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
Sort = Literal["recent", "threaded", "name", "size", "cost"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user can set; every field is a key of the settings file and has a default."""

    theme: str = "dark"
    """Name of the colour theme."""
    date_style: DateStyle = "age"
    """How lists show times: `2h`, `Nov 21 14:03`, or ISO 8601."""
    tree_filter: TreeFilter = "default"
    """The filter with which a session's tree opens."""
    sort: Sort = "recent"
    """The order in which the list of sessions opens."""
    index_tools: bool = False
    """Whether the text index holds tool calls and results too."""
    roots: tuple[str, ...] = ()
    """More places to look for sessions, beside those of the agents; `~` is the home directory."""
    keys: dict[str, str] = msgspec.field(default_factory=dict)
    """Other keys for commands: command id to key."""
    agents: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other programs for agents: agent to program and arguments."""


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force, where they were looked for, and a sentence for each that cannot be used."""

    settings: Settings
    path: Path
    problems: tuple[str, ...] = ()


def load_settings(env: Mapping[str, str] = os.environ, home: Path | None = None) -> LoadedSettings:
    """Return the user's settings; a missing file means the defaults, a faulty one its good part."""
    path = settings_path(env, home)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return LoadedSettings(settings=Settings(), path=path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problem = f"The settings file {path} cannot be read ({reason}); the defaults are used."
        return LoadedSettings(settings=Settings(), path=path, problems=(problem,))
    settings, problems = parse_settings(text)
    return LoadedSettings(settings=settings, path=path, problems=tuple(f"{path}: {problem}" for problem in problems))


def parse_settings(text: str) -> tuple[Settings, list[str]]:
    """Return the settings that TOML `text` holds, and a sentence for each that cannot be used."""
    import tomllib  # only people with a settings file pay for it

    try:
        table = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Settings(), [f"not valid TOML ({error}); the defaults are used."]
    fields = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    good: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        if key not in fields:
            problems.append(f'unknown setting "{key}"{_meant(key, fields)}; it is ignored.')
            continue
        try:
            good[key] = msgspec.convert(value, fields[key])
        except msgspec.ValidationError:
            problems.append(f'"{key}" must be {_wanted(key, fields[key])}; the default is used.')
    return Settings(**good), problems


def _meant(key: str, fields: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(key, fields, n=1)
    return f', did you mean "{near[0]}"?' if near else ""


def _wanted(key: str, kind: object) -> str:
    return _WANTED.get(key) or "one of " + ", ".join(get_args(kind))


_WANTED = {
    "theme": "a text in quotes",
    "index_tools": "true or false",
    "roots": 'a list of texts such as ["~/old/.pi/agent"]',
    "keys": 'a table of texts such as {rename = "f6"}',
    "agents": 'a table of lists such as {pi = ["npx", "pi"]}',
}


# ---- our own directories -----------------------------------------------------------------------------------


def settings_path(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the settings file: `SESSIONBROWSE_CONFIG`, else `config.toml` in our configuration directory."""
    named = env.get("SESSIONBROWSE_CONFIG")
    return Path(named) if named else config_dir(env, home) / "config.toml"


def config_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of the user's settings; it need not exist."""
    return _own_dir("config", env, home)


def cache_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of what can be made again at any time; it need not exist."""
    return _own_dir("cache", env, home)


def state_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of what the program remembers: pins, journal, view; it need not exist."""
    return _own_dir("state", env, home)


def data_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of what the program keeps for the user: our own trash; it need not exist."""
    return _own_dir("data", env, home)


_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


def _own_dir(kind: str, env: Mapping[str, str], home: Path | None, system: str = sys.platform) -> Path:
    if system in ("darwin", "win32"):
        import platformdirs

        return Path(getattr(platformdirs, f"user_{kind}_path")(APP, appauthor=False))
    # platformdirs' own rule for Unix, without its 17 ms of import and with `env` and `home` as values
    variable, below_home = _XDG[kind]
    named = env.get(variable, "").strip()
    if Path(named).is_absolute():
        return Path(named) / APP
    return (home or Path(env.get("HOME") or Path.home())) / below_home / APP
