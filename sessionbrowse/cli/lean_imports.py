"""Libraries imported without what they take only where it is installed, and what nothing here uses."""

from __future__ import annotations

import sys
from importlib import import_module


def import_msgspec() -> None:
    """Import msgspec without typing_extensions.

    What msgspec finds there, typing has too; with all that it imports in turn it is a sixth of a command's start.
    """
    _import("msgspec", without="typing_extensions")


def import_asyncio() -> None:
    """Import asyncio without ssl: the interface talks to nobody, and it is a thirtieth of its start."""
    _import("asyncio", without="ssl")


def _import(name: str, *, without: str) -> None:
    if without in sys.modules:
        return
    absent: dict[str, object] = sys.modules  # type: ignore[assignment]
    absent[without] = None
    try:
        import_module(name)
    finally:
        del absent[without]
