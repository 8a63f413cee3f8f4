"""The text pane: any length, wrapped where it is seen, its place kept."""

from __future__ import annotations

import time
from functools import partial

from textual.app import App, ComposeResult

from sessionbrowse.tui.layout.heights import DocumentLayout
from sessionbrowse.tui.layout.parts import Fold, LazyPart, LinePart, Part, text_parts
from sessionbrowse.tui.widgets.text_view import TextView


class TextApp(App[None]):
    """A text alone."""

    def compose(self) -> ComposeResult:
        yield TextView(empty="Nothing to read.")

    @property
    def text(self) -> TextView:
        return self.query_one(TextView)

    def shown(self) -> list[str]:
        return [self.text.render_line(y).text.rstrip() for y in range(self.text.size.height)]


async def test_fifty_megabytes_scroll_from_end_to_end() -> None:
    text = "".join([f"line {number:08d} of a very long output\n" for number in range(1_400_000)])
    assert len(text) > 50_000_000
    app = TextApp()
    async with app.run_test(size=(60, 20)) as pilot:
        started = time.process_time()
        app.text.show(text_parts(text))
        await pilot.pause()
        assert app.shown()[0].startswith("line 00000000")
        app.text.go_last()
        await pilot.pause()
        assert any(row.startswith("line 01399999") for row in app.shown())
        for _ in range(50):
            app.text.page_up()
        app.text.go_first()
        await pilot.pause()
        assert app.shown()[0].startswith("line 00000000")
        assert time.process_time() - started < 3


async def test_one_line_down_shows_the_next_line_and_one_up_the_same_again() -> None:
    # Lines of very different length make every estimate wrong.
    lines = ["word " * (number * 37 % 90) + f"#{number}" for number in range(4000)]
    app = TextApp()
    async with app.run_test(size=(50, 15)) as pilot:
        app.text.show(text_parts("\n".join(lines)))
        app.text.move(2500)
        await pilot.pause()
        before = app.shown()
        app.text.go_down()
        await pilot.pause()
        assert app.shown()[:-1] == before[1:]
        app.text.go_up()
        await pilot.pause()
        assert app.shown() == before


async def test_scrolling_up_into_what_was_never_seen_moves_by_exactly_a_row() -> None:
    lines = ["word " * (number * 37 % 90) + f"#{number}" for number in range(4000)]
    app = TextApp()
    async with app.run_test(size=(50, 15)) as pilot:
        app.text.show(text_parts("\n".join(lines)))
        app.text.go_last()
        await pilot.pause()
        for _ in range(300):
            before = app.shown()
            app.text.go_up()
            assert app.shown()[1:] == before[:-1]


async def test_a_narrower_pane_keeps_the_text_at_the_top() -> None:
    lines = [f"paragraph {number}: " + "words and words " * 20 for number in range(400)]
    app = TextApp()
    async with app.run_test(size=(80, 15)) as pilot:
        app.text.show(text_parts("\n".join(lines)))
        app.text.move(700)
        await pilot.pause()
        paragraph = next(row for row in app.shown() if row.startswith("paragraph"))
        await pilot.resize_terminal(40, 15)
        await pilot.pause()
        number = int(paragraph.split()[1].rstrip(":"))
        near = [int(row.split()[1].rstrip(":")) for row in app.shown() if row.startswith("paragraph")]
        assert near
        # All of the text is one part or two; within it the place is kept by its share.
        assert abs(near[0] - number) < 40


async def test_parts_are_built_only_when_they_are_seen() -> None:
    built: list[int] = []

    def lazy(number: int) -> Part:
        def make() -> list[Part]:
            built.append(number)
            return [LinePart([(f"part {number}", "")])]

        return LazyPart(make)

    app = TextApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.text.show([lazy(number) for number in range(10_000)])
        await pilot.pause()
        assert len(built) < 60
        app.text.go_last()
        await pilot.pause()
        assert 9_999 in built
        assert len(built) < 120
        assert app.shown()[-1] == "part 9999"


async def test_an_empty_pane_has_its_sentence() -> None:
    app = TextApp()
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        assert "Nothing to read." in [row.strip() for row in app.shown()]
        app.text.show([], empty="Choose an entry.")
        await pilot.pause()
        assert "Choose an entry." in [row.strip() for row in app.shown()]


async def test_a_megabyte_in_one_line_is_wrapped_where_it_is_seen() -> None:
    app = TextApp()
    async with app.run_test(size=(40, 10)) as pilot:
        started = time.process_time()
        app.text.show(text_parts("x" * 1_000_000 + "end"))
        app.text.go_last()
        await pilot.pause()
        assert time.process_time() - started < 1
        assert any(row.endswith("end") for row in app.shown())


async def test_the_same_document_again_stays_at_its_place_with_what_is_open() -> None:
    def fold(number: int) -> Fold:
        rows = [LinePart([(f"inside {number}.{row}", "")]) for row in range(3)]
        return Fold([(f"fold {number}", "")], lambda: rows)

    def built(number: int) -> list[Part]:
        # How many rows a lazy part holds is not known before it is seen.
        return [LinePart([(f"block {number}", "")]), *[LinePart([("word", "")])] * (number % 9), fold(number)]

    def document(blocks: int) -> list[Part]:
        return [fold(0), *[LazyPart(partial(built, number), about=3) for number in range(1, blocks)]]

    app = TextApp()
    async with app.run_test(size=(40, 12)) as pilot:
        app.text.show(document(80))
        app.text.go_last()
        app.text.move(-60)
        app.text.go_spot(1)
        app.text.toggle_spot()
        app.text.go_spot(1)
        await pilot.pause()
        before, spot = app.shown(), app.text.spot
        assert any("inside" in row for row in before)
        assert isinstance(spot, Fold)
        app.text.show(document(81), keep_place=True)
        await pilot.pause()
        assert app.shown() == before
        after = app.text.spot
        assert isinstance(after, Fold)
        assert after.rows(40) == spot.rows(40)
        app.text.show(document(81))
        await pilot.pause()
        assert app.shown()[0].endswith("fold 0"), "another document begins at its top"
        assert not any("inside" in row for row in app.shown())


def test_folds_inside_folds_and_lazy_parts_are_as_open_in_the_document_made_anew() -> None:
    def fold(name: str, *inside: Part) -> Fold:
        return Fold([(name, "")], lambda: inside)

    def document() -> list[Part]:
        inner = fold("inner", LinePart([("deep", "")]))
        return [LazyPart(lambda: [fold("outer", LazyPart(lambda: [inner])), LinePart([("below", "")])]), fold("last")]

    def rows(document: DocumentLayout) -> list[str]:
        return [part.plain() for part in document.parts if isinstance(part, LinePart)]

    first = DocumentLayout(document(), 40)
    first.toggle(0)
    first.measure(1)
    first.toggle(1)
    assert rows(first) == ["deep", "below"]
    again = DocumentLayout(document(), 40, opened=first.opened)
    again.measure(1)
    assert rows(again) == ["deep", "below"]
    again.toggle(0)
    assert rows(again) == ["below"]
    again.toggle(0)
    again.measure(1)
    assert rows(again) == ["deep", "below"], "what was open inside is open again"
