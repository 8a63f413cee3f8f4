"""What is painted piece by piece is what a whole frame would be, and no more is drawn than what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.widgets.span_view import SpanView
from tests.support.terminal import Screen
from tests.support.tui_support import Driven, browsing, demo_options, fixed_source, summary

COLUMNS, ROWS = 120, 40


class PaintedOn:
    """A terminal that is sent what the app paints."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.screen = Screen(ROWS, COLUMNS)
        self.pieces = 0
        patch.setattr(BrowseApp, "_display", lambda app, screen, update: self.take(app, update))

    def take(self, app: BrowseApp, update: object) -> None:
        if isinstance(update, CompositorUpdate) and not app._batch_count:
            self.screen.feed(update.render_segments(app.console).encode())
            self.pieces += not isinstance(update, LayoutUpdate)


def cells(screen: Screen) -> list[list[Any]]:
    buffer = screen._screen.buffer
    return [[as_seen(buffer[y][x]) for x in range(COLUMNS)] for y in range(ROWS)]


def as_seen(cell: Any) -> Any:
    """A blank without lines looks the same in every colour and weight."""
    is_bare = cell.data == " " and not (cell.underscore or cell.reverse or cell.strikethrough)
    return (" ", cell.bg) if is_bare else cell


def whole(browser: Driven) -> Screen:
    app, screen = browser.app, Screen(ROWS, COLUMNS)
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    update = LayoutUpdate(update.strips, update.region)  # as Textual sends it, whatever the terminal shows
    screen.feed(update.render_segments(app.console).encode())
    return screen


@pytest.mark.slow
async def test_piece_by_piece_stands_on_the_terminal_what_stands_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = PaintedOn(monkeypatch)
    async with browsing(size=(COLUMNS, ROWS), painted=True, **demo_options(tmp_path)) as browser:
        keys = "down down / a u backspace escape space tab down pagedown end ? down escape ctrl+s ctrl+d n escape"
        in_tree = "enter up up pageup home space down / r e backspace escape d tab down pagedown q"
        for key in f"{keys} shift+tab {in_tree}".split():
            await browser.press({"/": "slash", "?": "question_mark"}.get(key, key))
            assert cells(terminal.screen) == cells(whole(browser)), key
    assert terminal.pieces > 30


async def test_a_step_of_the_cursor_draws_its_two_rows_and_nothing_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[str | None, int]] = []

    def noted(self: SpanView, crop: Region) -> list[Strip]:
        drawn.append((self.id, crop.height))
        return render(self, crop)

    source = fixed_source([summary(f"/{n}.jsonl", modified=-n) for n in range(100)])
    async with browsing(source, painted=True) as browser:
        await browser.press("v", "down")
        render = SpanView.render_lines
        monkeypatch.setattr(SpanView, "render_lines", noted)
        await browser.press("down")
        assert ("sessions", 2) in drawn
        assert all(height <= 2 for _, height in drawn)
        assert not [name for name, _ in drawn if name == "projects"]
