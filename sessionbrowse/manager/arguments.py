"""Check the arguments of `SessionManager`'s methods: refuse values at which pi, omp, atomic or indusagi would fail."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET

from sessionbrowse.format.entries import Value
from sessionbrowse.format.json_value import MAX_DEPTH, is_true
from sessionbrowse.manager.memory_session import plain
from sessionbrowse.store.write.write_checks import refuse_only_read_agent

Json = Any
Checked = TypeVar("Checked")

_LARGEST_BITS = 1023
"""Maximum number of bits of a whole number; JavaScript reads numbers of more than 1024 bits as infinity."""


def checked_arguments(made: type[Checked]) -> type[Checked]:
    """Make the public methods of a class check their arguments against the type annotations before they run.

    All values must be JSON: no NaN, infinity, set, or object that contains itself. An int may be passed for a float
    and the reverse, as in JavaScript. The methods raise a TypeError or ValueError that names the wrong argument.
    """
    for name, method in list(vars(made).items()):
        if isinstance(method, types.FunctionType) and not name.startswith("_"):
            setattr(made, name, _checked(method))
    return made


def _checked(method: types.FunctionType) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound, hints = _signature(method).bind(*args, **kwargs), _hints(method)
        for name, value in bound.arguments.items():
            if name in hints:
                _check(name, value, hints[name])
        return method(*args, **kwargs)

    return call


def check_entry(kind: str, fields: dict[str, Json], agent: str) -> None:
    """Raise an error for an entry that cannot be added: its message is invalid, or its session is only read."""
    refuse_only_read_agent(agent)
    if kind == "message":
        check_message(fields.get("message"), agent)


def check_message(message: Json, agent: str) -> None:
    """Check a message: wrong content breaks the programs' lists and contexts, and `usage` without cost breaks omp.

    Raises:
        TypeError: the message is no object, or its content or usage has the wrong type.
    """
    if not isinstance(message, dict):
        raise TypeError(f"message must be an object, not {_name_of(message)}")
    role, content = message.get("role"), message.get("content")
    if role in ("user", "assistant"):
        if not isinstance(content, str | list):
            raise TypeError(f"message: the content of {role} must be text or a list, not {_name_of(content)}")
        if not isinstance(content, str) and any(block is None for block in content):
            raise TypeError(f"message: the content of {role} has a block that is null")
    details = message.get("details")
    usages = (message.get("usage"), details.get("usage") if isinstance(details, dict) else None)
    for usage in usages if agent == "omp" else ():
        check_usage("message", usage)


def check_usage(argument: str, usage: Json) -> None:
    """Raise TypeError if `usage` (tokens, cost of a model call) has no cost: omp 18.2.3 cannot open such a session."""
    if is_true(usage) and not (isinstance(usage, dict) and usage.get("cost") is not None):
        raise TypeError(f"{argument}: usage must be an object with a cost")


@cache
def _signature(method: Callable[..., Any]) -> Any:
    import inspect

    return inspect.signature(method)


@cache
def _hints(method: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(method)


def _check(name: str, value: Any, hint: Any) -> None:
    if not _fits(value, hint):
        raise TypeError(f"{name} must be {_shown(hint)}, not {_name_of(value)}")
    if value is not UNSET:
        _refuse_no_json(name, value)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if hint in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_fits(item, get_args(hint)[0]) for item in value)
    return isinstance(value, origin or hint)


def _refuse_no_json(name: str, value: Any) -> None:
    """Raise TypeError or ValueError for a value that JSON cannot hold, such as a list that contains itself."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        match each:
            case None | str() | bool():
                continue
            case float() | int():
                if not math.isfinite(each) if isinstance(each, float) else each.bit_length() > _LARGEST_BITS:
                    raise ValueError(f"{name} has a number that JSON cannot hold")
                continue
            case Value():
                items = list(plain(each).values())
            case dict():
                if not all(isinstance(key, str) for key in each):
                    raise TypeError(f"{name} has a key that is not text")
                items = list(each.values())
            case list() | tuple():
                items = list(each)
            case _:
                raise TypeError(f"{name} has a value that JSON cannot hold: {_name_of(each)}")
        if depth >= MAX_DEPTH:
            raise ValueError(f"{name} is nested too deeply, or contains itself")
        waiting += [(item, depth + 1) for item in items]


def _shown(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(repr(each) for each in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_shown(each) for each in get_args(hint) if not str(each).endswith("UnsetType'>"))
    return "None" if hint is type(None) else str(getattr(get_origin(hint) or hint, "__name__", hint))


def _name_of(value: Any) -> str:
    return "None" if value is None else type(value).__name__
