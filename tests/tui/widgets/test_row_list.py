"""The virtual list: a hundred thousand rows at once, a cursor that stays on its row."""

from __future__ import annotations

import time
from collections.abc import Hashable

from textual.app import App, ComposeResult

from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.widgets.row_list import RowList


class ListApp(App[None]):
    """A list alone."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []
        self.highlighted: list[Hashable | None] = []
        self.entered: list[Hashable] = []

    def compose(self) -> ComposeResult:
        yield RowList(self._draw, empty="Nothing here. Press x.")

    def _draw(self, index: int, width: int) -> Line:
        self.drawn.append(index)
        return [(f"row {self.rows.keys[index]}", "")]

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    def key(self) -> Hashable | None:
        return self.rows.key

    def on_row_list_highlighted(self, event: RowList.Highlighted) -> None:
        self.highlighted.append(event.key)

    def on_row_list_entered(self, event: RowList.Entered) -> None:
        self.entered.append(event.key)

    def shown(self) -> list[str]:
        return [self.rows.render_line(y).text.strip() for y in range(self.rows.size.height)]


async def test_a_hundred_thousand_rows_are_replaced_at_once_and_only_the_visible_are_drawn() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 20)) as pilot:
        started = time.process_time()
        app.rows.set_rows(range(100_000))
        app.rows.set_rows(range(100_000, 0, -1))
        elapsed = time.process_time() - started
        await pilot.pause()
        assert elapsed < 0.5
        assert len(set(app.drawn)) <= 40
        app.rows.go_last()
        await pilot.pause()
        assert "row 1" in app.shown()[-1]


async def test_the_cursor_stays_on_its_row_while_rows_arrive_above_and_below() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows(["c", "e", "g"])
        app.rows.go_down()
        app.rows.set_rows(["a", "b", "c", "d", "e", "f", "g"])
        await pilot.pause()
        assert app.key() == "e"
        assert app.highlighted[-1] == "e"


async def test_the_row_stays_at_its_place_on_the_screen_when_rows_arrive_above() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        app.rows.set_rows(list(range(1000, 1100)))
        app.rows.go(50)
        await pilot.pause()
        before = app.shown().index("▌ row 1050")
        app.rows.set_rows(list(range(1100)))
        await pilot.pause()
        assert app.shown().index("▌ row 1050") == before


async def test_an_untouched_list_stays_at_its_top_when_newer_rows_arrive() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows(["old"])
        app.rows.set_rows(["new", "old"])
        await pilot.pause()
        assert app.key() == "new"


async def test_a_row_that_vanishes_leaves_the_cursor_near_its_place() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)):
        app.rows.set_rows(["a", "b", "c", "d"])
        app.rows.go(2)
        app.rows.set_rows(["a", "b", "d"])
        assert app.key() == "d"
        app.rows.set_rows([])
        assert app.key() is None


async def test_moving_is_clamped_and_wraps_only_where_asked() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)):
        app.rows.set_rows(["a", "b", "c"])
        app.rows.go_up()
        assert app.key() == "a"
        app.rows.move(-1, wrap=True)
        assert app.key() == "c"
        app.rows.page_down()
        assert app.key() == "c"
        app.rows.go_first()
        assert app.key() == "a"
        assert app.rows.go_to_key("b")
        assert not app.rows.go_to_key("none")
        assert app.key() == "b"


async def test_an_empty_list_says_why() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows([], empty="No sessions in this folder.")
        await pilot.pause()
        assert "No sessions in this folder." in app.shown()


async def test_a_click_moves_the_cursor_and_only_a_double_click_goes_in() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows(["a", "b", "c"])
        await pilot.pause()
        await pilot.click(RowList, offset=(5, 1))
        assert app.key() == "b"
        assert app.entered == []
        await pilot.click(RowList, offset=(5, 2), times=2)
        assert app.key() == "c"
        assert app.entered == ["c"]


async def test_a_click_below_the_last_row_does_nothing() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows(["a"])
        await pilot.click(RowList, offset=(5, 6), times=2)
        assert app.entered == []


async def test_the_wheel_scrolls_without_moving_the_cursor() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.set_rows(range(100))
        await pilot.pause()
        app.rows.scroll_to(y=30, animate=False)
        await pilot.pause()
        assert "row 30" in app.shown()[0]
        assert app.key() == 0


async def test_marked_rows_carry_a_sign() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 10)):
        app.rows.set_rows(["a", "b"])
        app.rows.toggle_mark()
        assert app.rows.marks == {"a"}
        assert "✓" in app.shown()[0]
        app.rows.toggle_mark()
        assert app.rows.marks == set()


async def test_every_row_fills_its_line_exactly_whatever_its_characters() -> None:
    class WideApp(ListApp):
        def _draw(self, index: int, width: int) -> Line:
            return [("日本語👩\u200d👧e\u0301🇩🇪" * 20, "")]

    app = WideApp()
    async with app.run_test(size=(33, 4)) as pilot:
        app.rows.set_rows(range(3))
        await pilot.pause()
        assert {app.rows.render_line(y).cell_length for y in range(4)} == {app.rows.room}
