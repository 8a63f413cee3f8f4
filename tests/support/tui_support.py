"""Helpers of the interface's tests: made-up sources, a driven app, what stands on the screen."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual import events
from textual._compositor import Compositor
from textual.pilot import Pilot

from sessionbrowse.config import Settings
from sessionbrowse.demo import make_demo
from sessionbrowse.errors import CannotResume
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.list.gather import Batch
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.library import Folding, Library, SessionRow
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.source import Source
from sessionbrowse.tui.data.sources import source_of
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.text_view import TextView

NOW_MS = 1_795_000_000_000
"""The moment at which the made-up stores are looked at."""


_NAMES = {" ": "space", "/": "slash", ":": "colon", '"': "quotation_mark", "(": "left_parenthesis"}
_CHARACTERS = {name: character for character, name in _NAMES.items()} | {"question_mark": "?", "full_stop": "."}


PATIENCE_SECONDS = 60.0


class Driven:
    """A running app and the hands on its keyboard."""

    def __init__(self, app: BrowseApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, waiting after each until everything it caused is done."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else _CHARACTERS.get(key)))
            await self.settle()

    async def run(self, *command_ids: str) -> None:
        """Run commands as the palette does, for commands that have no key by default."""
        for command_id in command_ids:
            screen = self.app.screen
            assert isinstance(screen, CommandScreen)
            screen.run_command(BY_ID[command_id])
            await self.settle()

    async def press_now(self, *keys: str) -> None:
        """Press keys, waiting after each until the interface has painted what it changed; the background goes on."""
        for key in keys:
            self.app.post_message(events.Key(_NAMES.get(key, key), key if len(key) == 1 else _CHARACTERS.get(key)))
            await self.settle(background=False)

    async def press_at_once(self, *keys: str) -> None:
        """Press keys as a fast terminal sends them: all are there before the first is handled."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else _CHARACTERS.get(key)))
        await self.settle()

    async def type(self, text: str) -> None:
        """Type a text, as fast as a terminal sends it."""
        for character in text:
            self.app.post_message(events.Key(_NAMES.get(character, character), character))
        await self.settle()

    async def go_into(self, title: str) -> None:
        """Go into a listed session, without the program that a search for its title would start."""
        sessions = self.row_list("#sessions")
        at = next(number for number, row in enumerate(self.rows("#sessions")) if title in row)
        sessions.go(at + round(sessions.scroll_y))
        await self.settle()
        await self.press("enter")
        assert self.screen_name == "session"

    async def settle(self, *, background: bool = True) -> None:
        """Wait until nothing runs in the background, every message is handled and the screen is painted.

        Without `background` it does not wait for what runs there. Textual's own pilot waits for the processor to be
        idle, which takes long on a busy machine. A browser that was left is at rest.
        """
        calm = 0
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.app._exit:
                return
            calm = calm + 1 if self._is_calm(background) else 0
            if calm > 4:
                return
            await asyncio.sleep(0 if calm else 0.001)
        raise AssertionError(f"the browser does not come to rest: {self._what_is_busy()}")

    def _what_is_busy(self) -> str:
        """Return what keeps the browser busy, with the stacks of its threads."""
        app, screen = self.app, self.app.screen
        lanes = [name for name, lane in getattr(screen, "_lanes", {}).items() if lane.busy]
        due = [name for name in ("preview", "updates") if getattr(getattr(screen, name, None), "due", False)]
        queues = {str(pump): pump.message_queue_size for pump in (app, screen, *screen.walk_children())}
        queues = {name: size for name, size in queues.items() if size}
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        stacks = [
            f"{names.get(ident)}:\n{''.join(traceback.format_stack(frame)[-6:])}"
            for ident, frame in sys._current_frames().items()
        ]
        own = f"scan {app.scan_lane.busy}, changes {app.changes.busy}, lanes {lanes}, due {due}, queues {queues}"
        return "\n".join([f"{screen}: {own}", *stacks])

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what no lane of the screen brings about."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if condition():
                return
            await self.pilot.pause(0.002)
        raise AssertionError(f"it did not happen:\n{self.screen_text()}")

    def _is_calm(self, background: bool) -> bool:
        screen = self.app.screen
        if self.app._waiting_keys and not self.app._holds_keys:
            return False
        if any(isinstance(each, CommandScreen) and each._open_frames for each in self.app.screen_stack):
            return False  # A key press, or a result from the background, is being handled.
        works = self.app.scan_lane.busy or self.app.changes.busy or (isinstance(screen, CommandScreen) and screen.busy)
        if works and background:
            return False
        if screen._layout_required or screen._dirty_widgets or screen._callbacks or not screen.is_running:
            return False
        return all(not pump.message_queue_size for pump in (self.app, screen, *screen.walk_children()))

    @property
    def screen_name(self) -> str:
        """The name of the screen on top."""
        return self.app.screen.name or ""

    def rows(self, selector: str) -> list[str]:
        """Return the visible rows of a list or text, without the blanks at their ends."""
        widget = self.app.screen.query_one(selector)
        assert isinstance(widget, RowList | TextView)
        return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]

    def words(self, selector: str) -> str:
        """Return what a list or text shows, as words on one line: sentences may be wrapped."""
        return " ".join(" ".join(self.rows(selector)).split())

    def row_list(self, selector: str) -> RowList:
        """Return a list."""
        return self.app.screen.query_one(selector, RowList)

    def screen_text(self) -> str:
        """Return all that stands on the screen, line by line."""
        update = self.app.screen._compositor.render_strips()
        return "\n".join([strip.text for strip in update])

    def footer(self) -> str:
        """Return the last line of the screen."""
        return self.screen_text().split("\n")[-1]

    def toasts(self) -> list[str]:
        """Return the messages that were shown above the footer, oldest first."""
        return [said.sentence for said in self.app.messages]

    def forget_toasts(self) -> None:
        """Remove the message above the footer, and forget the earlier ones."""
        self.app.unsay()
        self.app.messages.clear()


def paint_nothing(compositor: Compositor, **options: object) -> None:
    """Stand in for `Compositor.render_update`: regard the screen as painted."""
    compositor._dirty_regions.clear()


@asynccontextmanager
async def browsing(
    source: Source | None = None,
    *,
    size: tuple[int, int] = (120, 40),
    settle: bool = True,
    painted: bool = False,
    **options: Any,
) -> AsyncIterator[Driven]:
    """Run the browser without a terminal. Frames are built only if `painted`: the tests read widgets and strips."""
    options.setdefault("now_ms", lambda: float(NOW_MS))
    options.setdefault("here", None)
    options.setdefault("environ", {**os.environ, "COLORTERM": "truecolor", "TERM": "xterm-256color"})
    chosen = BrowseOptions(source=source, **options)
    app = BrowseApp(chosen, source if source is not None else source_of(chosen))
    painting = nullcontext() if painted else patch.object(Compositor, "render_update", paint_nothing)
    with painting:
        async with app.run_test(size=size, notifications=True) as pilot:
            driven = Driven(app, pilot)
            if settle:
                await driven.settle()
            yield driven


def demo_options(target: Path, **settings: Any) -> dict[str, Any]:
    """Write the demo store below `target` and return the options that browse it, all projects at first."""
    make_demo(target, NOW_MS)
    settings.setdefault("scope", "all")
    home = target / "home" / "dev"
    return {
        "roots": [str(target)],
        "home": str(home),
        "here": str(home / "webshop"),
        "settings": Settings(**settings),
    }


def summary(path: str, **facts: Any) -> Summary:
    """Return a made-up summary."""
    facts.setdefault("agent", "pi")
    facts.setdefault("modified", float(NOW_MS))
    # With fewer it would be a stub, which folds under others.
    facts.setdefault("message_count", 2)
    return Summary(path=path, **facts)


ALL_OPEN = Folding(all_open=True)


def listed(
    library: Library, *, sort: str = "newest", folding: Folding = ALL_OPEN, **scope: Any
) -> Sequence[SessionRow]:
    """The rows of the session list for some of a library's sessions: `cwd`, `named`, `hidden`, `archived`."""
    return library.sessions(library.newest_first(**scope), sort, folding)


def no_resume(chosen: Summary, directory: str | None = None) -> Any:
    """Refuse to resume."""
    raise CannotResume(f"{chosen.path} cannot be resumed [here].")


def fixed_source(
    summaries: Iterable[Summary] = (),
    *,
    scan: Callable[[Callable[[], bool], bool], Iterator[Batch]] | None = None,
    sessions: Callable[[str, str | None], Session] = open_session,
    plan_resume: Callable[[Summary, str | None], Any] = no_resume,
) -> Source:
    """Return a source of made-up summaries."""
    listed = list(summaries)

    def scan_all(cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        shown = [one for one in listed if include_hidden or not one.hidden]
        yield Batch(shown, len(shown), len(shown))

    return Source(
        scan=scan or scan_all,
        open_session=sessions,
        exists_many=lambda paths: dict.fromkeys(paths, True),
        plan_resume=plan_resume,
        resume_line=lambda summary: plan_resume(summary, None).line_to_copy(),
    )
