"""Take pictures of every screen and dialog, as text: for each size of the terminal, in short walks."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest.mock import patch

from msgspec import Struct
from msgspec.structs import replace
from textual._compositor import Compositor, LayoutUpdate
from textual.strip import Strip

from sessionbrowse.config import CustomCommand, Settings
from sessionbrowse.model.usage.request import ABANDONED, COST, KEPT, Totals
from sessionbrowse.services.list.gather import Batch
from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
from sessionbrowse.services.usage.stats import Stats
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.data.options import Picking
from sessionbrowse.tui.dialogs.text_window import ProgressScreen
from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.stats.chart import periods
from tests.pictures.picture_scenes import (
    GROUPS,
    MODES,
    OTHERS,
    SCREENS,
    SHORT,
    STATES,
    STATISTICS,
    STATISTICS_STATES,
    Walk,
)
from tests.pictures.picture_text import Frame, colours_of, frame, text_of
from tests.support.change_helpers import CONVERSATION, entry, header
from tests.support.change_helpers import Store as OtherStore
from tests.support.search_support import index_of, searched_source
from tests.support.tui_support import Driven, browsing, demo_options, fixed_source, summary

SHOWN = "screenshots"
"""What pictures show in place of each run's own word in the name of its directory; as long as that."""
PREFIX = "sessionbrowse-"
PAINT = Compositor.render_update
REST = "rest"
"""The part of the pictures that no walk leads to."""
PAUSE_SECONDS = 0.001
"""How long the browser of a walk waits for a cursor to rest before it shows the preview; no picture shows the wait."""
PAUSES = (
    "tui.lists.preview.PREVIEW_DELAY",
    "tui.shell.paned_screen.PAUSE_SECONDS",
)


class Look(Struct, frozen=True):
    """A size of the terminal, the themes in which pictures are taken there, and of what; or a terminal of its kind."""

    name: str
    size: tuple[int, int]
    themes: tuple[str, ...]
    groups: dict[str, tuple[Walk, ...]]
    environ: dict[str, str] = {}

    @property
    def scenes(self) -> dict[str, list[str]]:
        """The scenes of each part: a group of walks with what belongs to it, and in the long looks the rest."""
        found = {group: [scene.name for walk in walks for scene in walk.scenes] for group, walks in self.groups.items()}
        if "statistics" in found:
            found["statistics"] += STATISTICS_STATES
        if self.groups is GROUPS:
            found[REST] = [*MODES, *STATES, *[scene.name for scene in OTHERS]]
        return found


LOOKS = {
    look.name: look
    for look in (
        # What a theme does to a screen it does at every size: a theme for each size shows both.
        Look("120", (120, 40), ("dark",), GROUPS),
        Look("80", (80, 24), ("light",), GROUPS),
        Look("60", (60, 20), ("high-contrast",), GROUPS),
        Look("200", (200, 50), ("dark", "light"), {"statistics": STATISTICS}),
        Look("terminal-colours", (100, 30), ("ansi",), SHORT),
        Look("no-colour", (100, 30), ("dark",), SHORT, {"NO_COLOR": "1"}),
    )
}

README_PICTURES = {
    "browse": ("120", "browse", "dark"),
    "session": ("120", "session", "dark"),
    "session-light": ("120", "session", "light"),
    "context": ("120", "session-context", "dark"),
    "diff": ("120", "session-compare", "dark"),
    "search-all": ("120", "search", "dark"),
    "delete": ("120", "delete-many", "dark"),
    "browse-60": ("60", "browse", "dark"),
}
"""The pictures of the README → the size, scene and theme that each shows."""


class Store:
    """A directory of this run's own, which is called the same in all pictures."""

    def __init__(self) -> None:
        self._chance = secrets.token_hex(len(SHOWN))[: len(SHOWN)]
        self.path = Path(tempfile.gettempdir()) / f"{PREFIX}{self._chance}"

    def __enter__(self) -> Store:
        self.path.mkdir(mode=0o700)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self.path)

    def as_shown(self, text: str) -> str:
        """Return `text` with the directory's name as pictures show it, also where it is cut or broken."""
        text = text.replace(self._chance, SHOWN)
        for cut in range(1, len(SHOWN)):
            for after in "-/…":
                text = text.replace(f"…{self._chance[cut:]}{after}", f"…{SHOWN[cut:]}{after}")
            text = text.replace(f"{PREFIX}{self._chance[:cut]}…", f"{PREFIX}{SHOWN[:cut]}…")
            text = re.sub(
                rf"{self._chance[:cut]}( *│.*\n.*?│ ?){self._chance[cut:]}", rf"{SHOWN[:cut]}\1{SHOWN[cut:]}", text
            )
        return text


class Album:
    """The pictures of one size: as texts by scene, and those of the README as SVG by file name."""

    def __init__(self, look: Look, *, drawn: bool) -> None:
        self.look = look
        self.texts: dict[str, str] = {}
        self.drawings: dict[str, str] = {}
        self.colours = ""
        self.broken: list[str] = []
        """The scenes that their keys did not lead to; the rest of their walk is missing."""
        self._drawn = drawn

    async def take(self, browser: Driven, scene: str, store: Store, *, background: bool = True) -> None:
        """Take a picture in each theme, and in that of the README; the screen is left in the first of them."""
        frames = []
        readme = [name for size, of, name in README_PICTURES.values() if (size, of) == (self.look.name, scene)]
        first, *others = dict.fromkeys([*self.look.themes, *readme])
        for name in (first, *others):
            await _show_in(browser, name, background)
            frames.append(frame(name, _strips(browser), browser.app.theme_variables))
            for drawing, shows in README_PICTURES.items():
                if self._drawn and shows == (self.look.name, scene, name):
                    with patch.object(Compositor, "render_update", PAINT):
                        svg = browser.app.export_screenshot(title="sessionbrowse", simplify=True)
                    # The elements are named by a checksum of what was drawn, in which the directory's name is.
                    self.drawings[drawing] = re.sub(r"\bterminal-\d+", "terminal", store.as_shown(svg))
        await _show_in(browser, first, background)
        self._keep(scene, frames, store)

    def _keep(self, scene: str, frames: Sequence[Frame], store: Store) -> None:
        assert scene not in self.texts, scene
        self.texts[scene] = store.as_shown(text_of(frames))
        self.colours = colours_of(frames)


async def _show_in(browser: Driven, name: str, background: bool) -> None:
    if browser.app.theme != theme.NAMES[name]:
        browser.app.theme = theme.NAMES[name]
        await browser.settle(background=background)


def _strips(browser: Driven) -> list[Strip]:
    """Return what stands on the screen, with what lies under a window."""
    app = browser.app
    update = PAINT(app.screen._compositor, full=True, screen_stack=app._background_screens, simplify=True)
    assert isinstance(update, LayoutUpdate)
    return [Strip.join(list(strips)) for strips in update.strips]


async def album(name: str, part: str | None = None, *, drawn: bool = True) -> Album:
    """Take the pictures of one size: all, or those of one part."""
    look = LOOKS[name]
    taken = Album(look, drawn=drawn)
    with ExitStack() as during:
        # On a busy machine a sentence might be gone before its picture is taken.
        during.enter_context(patch.object(BrowseApp, "MESSAGE_SECONDS", 3600.0))
        during.enter_context(patch.dict(os.environ, look.environ))
        for group in [part] if part else look.scenes:
            with _short_pauses():
                for walk in look.groups.get(group, ()):
                    await _walk(taken, walk)
            if group == "statistics":
                await _statistics_states(taken)
            if group == REST:
                await _modes(taken)
                await _states(taken)
                await _others(taken)
    return taken


@contextmanager
def _short_pauses() -> Iterator[None]:
    with ExitStack() as during:
        for pause in PAUSES:
            during.enter_context(patch(f"sessionbrowse.{pause}", PAUSE_SECONDS))
        yield


async def _walk(taken: Album, walk: Walk) -> None:
    with Store() as store:
        options = demo_options(store.path, theme=taken.look.themes[0])
        options |= {"environ": _environ(store), "demo": str(store.path)}
        program = store.path / "bin" / "pi"
        program.parent.mkdir()
        program.touch(mode=0o755)
        cache = store.path / "cache"
        index_of(store.path, cache)
        source = searched_source(options, store.path, cache)
        async with browsing(source, size=taken.look.size, **options) as browser:
            await _go(browser, walk.start)
            for scene in walk.scenes:
                await _go(browser, scene.keys)
                reached = _screen_below(browser), _window(browser)
                if reached != (walk.screen, scene.window):
                    taken.broken.append(f"{scene.name}: {scene.keys!r} leads to {reached}")
                    return
                if not scene.toasts:
                    browser.forget_toasts()
                    await browser.settle()
                await taken.take(browser, scene.name, store)
                await _go(browser, scene.back)
                browser.forget_toasts()
                await browser.settle()


def _environ(store: Store) -> dict[str, str]:
    return {"HOME": str(store.path / "home" / "dev"), "PATH": str(store.path / "bin"), "TMPDIR": str(store.path)}


def _screen_below(browser: Driven) -> str:
    """Return the name of the screen that fills the terminal, below the windows over it."""
    names = [screen.name or "" for screen in browser.app.screen_stack]
    return [name for name in names if name in SCREENS][-1]


def _window(browser: Driven) -> str:
    """Return what the window over the screen is called; "" where there is none."""
    titles = [str(widget.border_title or "") for widget in browser.app.screen.query(".window")]
    return titles[0] if titles else ""


async def _go(browser: Driven, keys: str) -> None:
    for key in keys.split():
        if key.startswith("run:"):
            await browser.run(key[4:])
        else:
            await (browser.type(key[5:]) if key.startswith("text:") else browser.press(key))


async def _modes(taken: Album) -> None:
    """Take the pictures of what the command line and the settings make of the lists."""
    own = CustomCommand(name="Count words", key="ctrl+e", run=("/bin/echo", "3,214 words"), output="toast")
    with Store() as store:
        options = demo_options(store.path, theme=taken.look.themes[0]) | {"environ": _environ(store)}
        options |= {"size": taken.look.size, "demo": str(store.path)}
        async with browsing(**options, pick=Picking(choose=print)) as browser:
            await taken.take(browser, "pick", store)
        options["settings"] = replace(options["settings"], commands=(own,))
        async with browsing(**options) as browser:
            await _go(browser, "colon text:count")
            await taken.take(browser, "own-command", store)
            await _go(browser, "enter")
            await browser.until(browser.toasts)
            await browser.settle()
            await taken.take(browser, "own-command-said", store)


async def _others(taken: Album) -> None:
    """Take the pictures of what is asked where others are in the way: programs at work, and a trash that is full."""
    with Store() as store, patch("send2trash.send2trash", side_effect=OSError("there is no room in it")):
        project = store.path / "webshop"
        project.mkdir()
        others = OtherStore(store.path)
        others.environ = _environ(store)
        heads = [[header(cwd=str(project), id=f"019beea{hour}")] for hour in (7, 8)]
        late_label = entry("label", "0000000a", "00000003", targetId="00000003", label="here")
        others.session(entries=[*CONVERSATION, late_label], head=heads[0])
        written = others.session("omp", head=heads[1], slot="Written to now")
        others.process(4242, ["bun", "/usr/lib/node_modules/omp/cli.js"], cwd=str(project), holds=written)
        others.process(4243, ["pi"], cwd=str(project))
        options: dict[str, Any] = {"size": taken.look.size, "settings": Settings(theme=taken.look.themes[0])}
        options |= {
            "context": others.context,
            "environ": others.environ,
            "home": str(others.home),
            "here": str(project),
        }
        async with browsing(roots=[str(others.home)], **options) as browser:
            for scene in OTHERS:
                await _go(browser, scene.keys)
                assert _window(browser) == scene.window, scene
                await taken.take(browser, scene.name, store)
                await _go(browser, scene.back)


async def _states(taken: Album) -> None:
    """Take the pictures of what the demo store does not show: nothing there, not yet there, no longer there."""
    with Store() as store:
        home = store.path / "home" / "dev"
        (home / "empty").mkdir(parents=True)
        options: dict[str, Any] = {
            "size": taken.look.size,
            "environ": _environ(store),
            "home": str(home),
            "here": str(home),
            "settings": Settings(theme=taken.look.themes[0]),
        }
        async with browsing(**options) as browser:
            await taken.take(browser, "welcome", store)
        async with browsing(roots=[str(home / "empty")], **options) as browser:
            await taken.take(browser, "no-sessions", store)
        missing = summary(str(home / "gone.jsonl"), name="No longer there", cwd=str(home))
        async with browsing(fixed_source([missing]), **options) as browser:
            await taken.take(browser, "gone", store)
            await _go(browser, "enter")
            await taken.take(browser, "session-gone", store)
            await _take_progress(taken, browser, store)
        await _take_loading(taken, options, store)


async def _statistics_states(taken: Album) -> None:
    """Take the picture of the statistics of very many sessions."""
    with Store() as store:
        home = str(store.path / "home" / "dev")
        options: dict[str, Any] = {"environ": _environ(store), "home": home, "here": home}
        options |= {"size": taken.look.size, "settings": Settings(theme=taken.look.themes[0])}
        source = replace(fixed_source([summary(f"{home}/one.jsonl", cwd=home)]), count_usage=_ten_thousand)
        async with browsing(source, **options) as browser:
            await _go(browser, "dollar_sign")
            await taken.take(browser, "stats-10000", store)


def _ten_thousand(question: UsageQuestion) -> UsageAnswer:
    """Return made-up figures with 10,000 rows in the table and 400 days in the chart."""

    def rows(keys: Sequence[str]) -> Stats:
        found = [UsageRow(key, Totals()) for key in keys]
        for number, row in enumerate(found, start=1):
            cost = 40 * 10**15 // (number % 97 * 400 + number)
            row.totals.parts[KEPT][:] = [number, number, 900 * number, 10**7 // number, 0, 0, cost, 0, 0]
            row.totals.parts[ABANDONED][:] = [1, 10, 400, 0, 0, 0, cost * (number % 5) // 4, 0, 0]
        total = Totals()
        for row in found:
            total.merge(row.totals)
        return Stats(question.by, sorted(found, key=lambda row: -row.totals.total[COST]), total)

    days = periods("2026-11-20", "day", 400)
    chart = rows(days)
    return UsageAnswer(question, rows([f"/srv/work/project-{number:05d}" for number in range(10_000)]), chart)


async def _take_progress(taken: Album, browser: Driven, store: Store) -> None:
    progress = ProgressScreen("Deleting 30 sessions", lambda: None)
    browser.app.push_screen(progress)
    await browser.settle()
    progress.report(12, 30, "Refactor auth module")
    await browser.settle()
    await taken.take(browser, "progress", store)
    await _go(browser, "escape")
    await taken.take(browser, "progress-stopping", store)
    progress.finish()


async def _take_loading(taken: Album, options: dict[str, Any], store: Store) -> None:
    go_on = threading.Event()

    def scan(cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        go_on.wait(timeout=60)
        yield Batch([], 0, 0)

    problems = ["There is no theme named 'solarised': the themes are dark, light, high-contrast, ansi."]
    async with browsing(fixed_source(scan=scan), settle=False, problems=problems, **options) as browser:
        await browser.settle(background=False)
        await taken.take(browser, "loading", store, background=False)
        go_on.set()
