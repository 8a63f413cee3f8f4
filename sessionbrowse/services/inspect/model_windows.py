"""The sizes of the context windows of models: those of the user's agent, else those of pi's catalogue.

`model_windows.json` is pi's own catalogue, written by `make windows`; it names the version of pi and the date. A model
that is in no catalogue has no known window.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

CATALOGUE = Path(__file__).with_name("model_windows.json")
MODELS, REFRESHED = "models.json", "models-store.json"
"""Files in the directory of pi and of its forks: the user's own models, and the catalogue that pi has refreshed."""
USUAL_TOKENS = 128_000
"""The window that pi 1.6.0 assumes for a model in `models.json` without a `contextWindow`."""
MOST_BYTES = 4 * 1024 * 1024
"""Maximum size of a file in bytes; reading takes two milliseconds for each megabyte."""
_NO_JSON = re.compile(rb'"(?:\\.|[^"\\])*"?|//[^\n]*|,(?=(?:\s|//[^\n]*\n)*[}\]])')
"""Matches strings (which are kept), and the comments and trailing commas that pi allows in `models.json`."""

Value = TypeVar("Value")


class Catalogue(Struct, frozen=True):
    """Windows in tokens by provider and id of the model; `pi` is the version of pi that listed them, on `date`."""

    pi: str
    date: str
    windows: Mapping[str, Mapping[str, int]]


class _Model(Struct, frozen=True):
    id: str = ""
    contextWindow: float | None = None


class _Provider(Struct, frozen=True):
    models: tuple[_Model, ...] = ()
    modelOverrides: dict[str, _Model] = {}


class _Models(Struct, frozen=True):
    providers: dict[str, _Provider] = {}


def context_window(provider: str | None, model_id: str | None, agent_directory: str | None = None) -> int | None:
    """Return the size of a model's context window in tokens; None if it is not known.

    In `agent_directory`, the directory of the session's agent, the user's `models.json` counts first, then the
    catalogue that the agent has refreshed. Both may be missing or damaged. This reads files, so it is for background
    threads.
    """
    if provider is None or model_id is None:
        return None
    found = None
    if agent_directory:
        found = _users_window(Path(agent_directory), provider, model_id)
    return found if found is not None else catalogue().windows.get(provider, {}).get(model_id)


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that is part of this package."""
    return msgspec.json.decode(CATALOGUE.read_bytes(), type=Catalogue)


def _users_window(directory: Path, provider: str, model_id: str) -> int | None:
    own = _read(directory / MODELS, _Models) or _Models()
    listed = own.providers.get(provider, _Provider())
    override = listed.modelOverrides.get(model_id)
    if override is not None and (tokens := _tokens(override)) is not None:
        return tokens
    for model in listed.models:
        if model.id == model_id:
            return USUAL_TOKENS if model.contextWindow is None else _tokens(model)
    stored = _read(directory / REFRESHED, dict[str, msgspec.Raw]) or {}
    refreshed = _decoded(stored.get(provider, b"{}"), _Provider) or _Provider()
    return next((_tokens(model) for model in refreshed.models if model.id == model_id), None)


def _tokens(model: _Model) -> int | None:
    window = model.contextWindow
    return int(window) if window is not None and 1 <= window < 2**53 else None


def _read(path: Path, kind: type[Value]) -> Value | None:
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError:
        return None
    if path.name == MODELS:
        content = _NO_JSON.sub(lambda found: found[0] if found[0][:1] == b'"' else b"", content)
    return _decoded(content, kind)


def _decoded(content: bytes | msgspec.Raw, kind: type[Value]) -> Value | None:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
