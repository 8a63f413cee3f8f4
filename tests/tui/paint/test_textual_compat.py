"""A canary for each private name of Textual and Rich that two modules use; no other module may use one."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from textual._compositor import ChopsUpdate, Compositor
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.timer import Timer

import sessionbrowse.tui
from sessionbrowse.tui.paint import textual_compat, textual_driver

COMPAT = (textual_compat.__name__, textual_driver.__name__)

CANARIES: tuple[tuple[type, str, str], ...] = (
    (Compositor, "_dirty_regions", "CompatCompositor reads and empties the list of regions that changed"),
    (Compositor, "_regions_to_spans", "CompatCompositor turns those regions into cells of lines"),
    (Console, "_color_system", "color_system() returns it; Strip.render() in textual/strip.py uses the same name"),
    (Screen, "_compositor", "CompatScreen replaces it, so that only changed cells are painted"),
    (Screen, "_update_timer", "CompatScreen replaces it, so that frames come 120 times a second"),
    (Screen, "_on_timer_update", "paint_now() and the timer of frames call it"),
    (Screen, "_post_register", "CompatScreen has styles and classes set in it, before the first frame"),
    (ScrollView, "_vertical_scrollbar", "CompatScrollView puts a scroll bar of its own class there"),
    (ScrollView, "_scroll_update", "set_height() has the scroll bar follow the number of rows with it"),
    (Timer, "_skip", "LateTimers clears it, so that a timer whose moment passed still calls its function"),
    (App, "_start_widget", "CompatScrollView starts its scroll bar with it, as Widget.vertical_scrollbar does"),
    (App, "_watch_app_focus", "CompatApp keeps the focus in it, whatever the terminal reports"),
    (App, "_flush_next_callbacks", "call_what_is_next() acts on the answer of a dialog before the next key press"),
    (App, "_exit", "CompatApp asks whether the app ends already"),
    (App, "_handle_exception", "CompatApp keeps errors of half made screens to itself while the app ends"),
    (App, "_driver", "CompatApp asks whether it runs in a terminal, before it ends the process at once"),
    (LinuxDriver, "_run_input_thread", "terminal_driver() ends the browser if the thread that reads keys fails"),
    (LinuxDriver, "_file", "terminal_driver() wraps the file that is written to, for when the terminal is gone"),
    (LinuxDriver, "_get_terminal_size", "terminal_driver() asks standard error where standard output is a pipe"),
    (LinuxDriver, "_sigtstp_application", "terminal_driver() has the event loop leave the terminal at SIGTSTP"),
    (LinuxDriver, "_sigcont_application", "terminal_driver() takes the terminal again after SIGSTOP"),
    (LinuxDriver, "_auto_restart", "terminal_driver() leaves the terminal alone while it is lent to a program"),
    (LinuxDriver, "_key_thread", "terminal_driver() asks whether keys are still read, so as not to read them twice"),
    (LinuxDriver, "_query_in_band_window_resize", "terminal_driver() does not ask for sizes among the keys"),
    (XTermParser, "_sequence_to_key_events", "InputParser asks it for the keys of one sequence"),
    (LinuxDriver, "_writer_thread", "terminal_driver() does not wait for a thread that could not be started"),
)

ADVICE = """
Textual or Rich has no {owner}.{name} any more. sessionbrowse/tui/paint/textual_compat.py or textual_driver.py uses it:
{use}.
Look in the sources of the new version for what does this now, change that module, then this table.
Until that is done, keep the older version: narrow the bound of textual or rich in pyproject.toml.
"""


@pytest.mark.parametrize(("owner", "name", "use"), CANARIES, ids=[f"{owner.__name__}.{n}" for owner, n, _ in CANARIES])
def test_the_private_name_is_still_there(owner: type, name: str, use: str) -> None:
    assert name in private_names(owner), ADVICE.format(owner=owner.__name__, name=name, use=use)


@pytest.mark.parametrize(
    ("function", "parameters", "use"),
    [
        (ChopsUpdate.__init__, ["self", "chops", "spans", "chop_ends"], "PartialUpdate calls it with three lists"),
        (ChopsUpdate.render_segments, ["self", "console"], "PiecesUpdate (lean_compositor.py) overrides it"),
        (Compositor.render_partial_update, ["self"], "LeanCompositor (lean_compositor.py) overrides it"),
        (Screen._on_timer_update, ["self"], "paint_now() calls it"),
        (Screen._post_register, ["self", "app"], "CompatScreen overrides it"),
        (ScrollView._scroll_update, ["self", "virtual_size"], "set_height() calls it"),
        (App._start_widget, ["self", "parent", "widget"], "CompatScrollView calls it"),
        (App._flush_next_callbacks, ["self"], "call_what_is_next() calls it"),
        (App._handle_exception, ["self", "error"], "CompatApp overrides it"),
        (XTermParser._sequence_to_key_events, ["self", "sequence", "alt"], "InputParser calls it"),
    ],
)
def test_the_function_still_takes_the_same(function: object, parameters: list[str], use: str) -> None:
    name = getattr(function, "__qualname__", "")
    now = list(inspect.signature(function).parameters)  # type: ignore[arg-type]
    assert now == parameters, f"{name} takes {now} now. {use}: change that module, then this table."


def test_every_private_name_that_is_used_has_its_canary() -> None:
    used = {name for module in COMPAT for kind in own_classes(module) for name in clashes(kind)}
    used |= {name for module in COMPAT for name in foreign_names(parsed(module))}
    assert used == {name for _, name, _ in CANARIES}


def test_no_other_module_uses_a_private_name() -> None:
    for module in tui_modules():
        tree = parsed(module)
        names = {name for kind in own_classes(module) for name in clashes(kind)} | foreign_names(tree)
        names |= {name for name in imported(tree) if re.search(r"^(textual|rich)\..*\b_", name)}
        assert not names, f"{module} uses private names of Textual or Rich, or takes one of them for its own: {names}"


def tui_modules() -> list[str]:
    found = pkgutil.walk_packages(sessionbrowse.tui.__path__, "sessionbrowse.tui.")
    return [module.name for module in found if module.name not in COMPAT]


def parsed(module: str) -> ast.Module:
    return ast.parse(source(module))


def own_classes(module: str) -> list[type]:
    """Return the classes a module makes, also those inside functions, that extend one of Textual's."""
    kinds = [kind for kind in vars(importlib.import_module(module)).values() if isinstance(kind, type)]
    if module == textual_driver.__name__:
        kinds.append(textual_driver.terminal_driver() or type(None))
    return [kind for kind in kinds if kind.__module__ == module and any(map(is_foreign, kind.__mro__))]


def is_foreign(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("textual", "rich")


@cache
def private_names(kind: type) -> frozenset[str]:
    """Return the private names that a foreign class and its bases define: methods, and what they set on themselves."""
    names = {name for name in dir(kind) if is_private(name)}
    for module in {base.__module__ for base in kind.__mro__ if is_foreign(base)}:
        names |= set(re.findall(r"self\.(_[a-z]\w*)\b.*=", source(module)))
    return frozenset(names)


@cache
def source(module: str) -> str:
    return Path(inspect.getfile(importlib.import_module(module))).read_text()


def clashes(kind: type) -> set[str]:
    """Return the private names of Textual's classes that a class of ours defines or uses on itself."""
    tree = next(
        node
        for node in ast.walk(parsed(kind.__module__))
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_own(node.value)}
    theirs = private_names(next(base for base in kind.__mro__ if is_foreign(base)))
    return {name for name in own if is_private(name)} & theirs


def foreign_names(tree: ast.Module) -> set[str]:
    """Return the private names asked of other objects than `self`."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {node.attr for node in attributes if is_private(node.attr) and not is_own(node.value)}


def is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


async def test_an_error_in_a_callback_ends_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(textual_compat.CompatApp):
        def on_mount(self) -> None:
            asyncio.get_running_loop().call_soon(self._handle_exception, ValueError("no such thing"))

    app = Failing()
    await asyncio.wait_for(app.run_async(headless=True), 20)
    assert app.return_code == 1
    assert "ValueError: no such thing" in capsys.readouterr().err
