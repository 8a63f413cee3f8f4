"""A scrollable pane for documents of any length; only the visible parts (blocks) of a document are wrapped.

The height of a part is an estimate until the part becomes visible. If its real height differs, the pane scrolls by the
difference, so that the visible text does not move.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from sessionbrowse.tui.layout.heights import DocumentLayout
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import EntryLink, FactPart, Fold, Part, overlay
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.widgets.span_view import RowsView

FindMatches = Callable[[str], list[tuple[int, int]]]
"""A function that returns the start and end offsets of all search matches in a row's text, sorted, not overlapping."""
MOST_REVEALED = 300_000
"""Maximum number of characters that are searched for the first match when a document is opened."""

Spot = Fold | ImagePart | EntryLink
"""A document part that the user can open with Enter: a fold, an image or a link to an entry."""


class TextView(RowsView, can_focus=True):
    """A pane that shows and scrolls a document, which is a list of parts (blocks such as paragraphs and folds)."""

    ALLOW_SELECT = True

    class Resized(Message):
        """Message: the width of the pane changed."""

    class LinkClicked(Message):
        """Message: the user clicked a link to an entry; `index` is the entry's index in the session."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._document = DocumentLayout((), 1)
        self._width = 0
        self._settling = False
        self._spot: Part | None = None
        self._marks: FindMatches | None = None
        self._searched_from = 0
        self._revealed_from: int | None = None

    # -- the document -------------------------------------------------------------------------------------------

    def show(
        self,
        parts: Sequence[Part],
        *,
        keep_place: bool = False,
        empty: str | None = None,
        marks: FindMatches | None = None,
        searched_from: int = 0,
    ) -> None:
        """Show a document from its top, or scrolled to its first match if `marks` is given.

        `marks` finds the search matches in a row; the first match is looked for from the part `searched_from` on. With
        `keep_place`, the scroll position and the open folds stay, because the document is only a new version of the
        shown document.
        """
        self._marks, self._searched_from = marks, searched_from
        if empty is not None:
            self.empty = empty
        before = self._document
        place = before.place_of(self.scroll_offset.y)
        spot = before.path_of(self._spot) if keep_place and self._spot is not None else None
        self._spot = None
        self._width = self.room
        opened = before.opened if keep_place else None
        self._document = DocumentLayout(parts, self._width, open_all=before.open_all, opened=opened)
        top = self._document.row_of(place) if keep_place and self.scroll_offset.y else 0
        self._update_size()
        self._settle(top)
        if spot is not None:
            self._spot = self._document.part_at(spot)
        if marks is None or not keep_place:
            self._revealed_from = None
        if marks is not None and not keep_place:
            self._reveal(marks)
        self.refresh()

    def marks_changed(self) -> None:
        """Repaint after more search matches were found; scroll to the first match unless the user has scrolled."""
        if self._marks is not None and self._revealed_from == self.scroll_offset.y:
            self._reveal(self._marks)
        self.refresh()

    def _reveal(self, marks: FindMatches) -> None:
        """Scroll to the document's first row with a search match; if a fold hides that row, open the fold."""
        self._revealed_from = self.scroll_offset.y
        document = self._document
        index, looked_at = self._searched_from, 0
        while index < len(document.parts) and looked_at < MOST_REVEALED:
            part = document.parts[index]
            if isinstance(part, Fold) and not part.is_open:
                hidden = "\n".join([inner.plain()[:MOST_REVEALED] for inner in part.body()])
                looked_at += len(hidden)
                if any(map(marks, hidden.split("\n"))):
                    document.toggle(index)
            elif not isinstance(part, FactPart):
                document.measure(index)
                rows = ["".join([text for text, _ in row]) for row in document.rows(index)]
                looked_at += sum(map(len, rows))
                within = next((number for number, row in enumerate(rows) if marks(row)), None)
                if within is not None:
                    document.update_tops()
                    self._update_size()
                    row = document.tops[index] + within
                    if row >= self.size.height - 1:
                        self._settle(row - self.size.height // 3)
                    self._revealed_from = None
                    return
            index += 1

    @property
    def has_parts(self) -> bool:
        """True if the document has any parts."""
        return bool(self._document.parts)

    @property
    def parts(self) -> Sequence[Part]:
        """The parts (blocks) of the document, including those in open folds."""
        return tuple(self._document.parts)

    def plain(self) -> str:
        """Return the text of the whole document, including the text hidden in folds."""
        return "\n".join([part.plain() for part in self._document.parts])

    def _update_size(self) -> None:
        self.set_height(self._document.height)

    # -- measuring and scrolling --------------------------------------------------------------------------------

    def _settle(self, top: int, *, at_end: bool = False) -> None:
        """Scroll to the row `top`, and replace the estimated heights of the parts visible there by real heights."""
        if self._settling or not self._width:
            return
        self._settling = True
        try:
            for _ in range(4):
                limit = max(0, self._document.height - self.size.height)
                top = limit if at_end else max(0, min(top, limit))
                changed, top = self._measure_from(top)
                if not changed:
                    break
            if top != self.scroll_offset.y:
                self.scroll_to(y=top, animate=False, force=True)
        finally:
            self._settling = False

    def _measure_from(self, top: int) -> tuple[bool, int]:
        document = self._document
        index = self._document.index_at(top)
        if index >= len(document.parts):
            return False, top
        position = document.tops[index]
        bottom = top + self.size.height
        changed = False
        while index < len(document.parts) and position < bottom:
            difference = document.measure(index)
            if difference:
                changed = True
                if position < top:
                    # The part begins above the screen. Scrolling by the difference between its real and its estimated
                    # height keeps the visible text in place.
                    top = max(position, top + difference)
                    bottom = top + self.size.height
            position += document.heights[index]
            index += 1
        if changed or len(document.tops) != len(document.parts) + 1:
            document.update_tops()
            self._update_size()
        return changed, top

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Replace the estimated heights of the parts that became visible by their real heights."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._settle(round(new_value))

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the document for the pane's new width; the part at the top of the pane stays there."""
        width = self.room
        if width == self._width:
            self._settle(self.scroll_offset.y)
            return
        top = self.scroll_offset.y
        index = self._document.index_at(top)
        into = top - self._document.tops[index]
        self._width = width
        self._document.fit(width)
        self._update_size()
        if index < len(self._document.heights):
            top = self._document.tops[index] + min(into, max(0, self._document.heights[index] - 1))
        self._settle(top)
        self.refresh()
        self.post_message(self.Resized())

    # -- moving -------------------------------------------------------------------------------------------------

    def move(self, delta: int) -> None:
        """Scroll down by `delta` rows, or up if `delta` is negative."""
        self._settle(self.scroll_offset.y + delta)

    def go_up(self) -> None:
        """Scroll up by a row."""
        self.move(-1)

    def go_down(self) -> None:
        """Scroll down by a row."""
        self.move(1)

    def go_first(self) -> None:
        """Scroll to the beginning of the document."""
        self._settle(0)

    def go_last(self) -> None:
        """Scroll to the end of the document."""
        self._settle(0, at_end=True)

    # -- folds and images ---------------------------------------------------------------------------------------

    @property
    def spot(self) -> Spot | None:
        """The fold, image or link that Enter opens: the selected one if it is visible, else the first visible one."""
        index = self._spot_index()
        part = self._document.parts[index] if index is not None else None
        return part if isinstance(part, Spot) else None

    def _spot_index(self) -> int | None:
        shown = self._spots(self.scroll_offset.y, self.scroll_offset.y + self.size.height)
        return next(
            (index for index in shown if self._document.parts[index] is self._spot), shown[0] if shown else None
        )

    def _spots(self, top: int, bottom: int) -> list[int]:
        """Return the indexes of the folds, images and links that begin between the rows `top` and `bottom`."""
        parts, tops = self._document.parts, self._document.tops
        shown = range(bisect_left(tops, top), min(bisect_left(tops, bottom), len(parts)))
        return [index for index in shown if isinstance(parts[index], Spot)]

    def shown_image(self) -> ImagePart | None:
        """Return the selected image, else the first visible image; None if no image is visible."""
        shown = self._spots(self.scroll_offset.y, self.scroll_offset.y + self.size.height)
        parts = [self.spot, *[self._document.parts[index] for index in shown]]
        return next((part for part in parts if isinstance(part, ImagePart)), None)

    def toggle_spot(self) -> None:
        """Open or close the fold that `spot` returns; do nothing if `spot` is an image, a link or None."""
        index = self._spot_index()
        if index is not None and isinstance(self._document.parts[index], Fold):
            self._spot = self._document.parts[index]
            grown = self._document.height
            self._document.toggle(index)
            grown = self._document.height - grown
            # Scroll to make the text of the opened fold visible, but keep a third of the pane above the fold.
            row, height = self._document.tops[index], self.size.height
            wanted = min(row - height // 3, row + 1 + grown - height)
            self._laid_anew(max(self.scroll_offset.y, wanted))

    def toggle_all(self) -> None:
        """Open every fold, or close all if all are open; the part at the top of the pane stays there."""
        top = self.scroll_offset.y
        index = self._document.index_at(top)
        part = self._document.parts[index] if self.has_parts else None
        self._document.toggle_all()
        at = next((at for at, other in enumerate(self._document.parts) if other is part), None)
        self._laid_anew(self._document.tops[at] if at is not None and top else top)

    def _laid_anew(self, top: int) -> None:
        self._update_size()
        self._settle(top)
        self.refresh()

    def go_spot(self, step: int) -> None:
        """Select the next fold, image or link below (`step` 1) or above (`step` -1), and scroll to it."""
        document = self._document
        index = self._spot_index()
        if index is None:
            index = self._document.index_at(self.scroll_offset.y) - (step > 0)
        at = index + step
        while 0 <= at < len(document.parts):
            before = len(document.parts)
            document.measure(at)
            if len(document.parts) != before and step < 0:
                at += len(document.parts) - before
            if isinstance(document.parts[at], Spot):
                break
            at += step
        document.update_tops()
        self._update_size()
        if not 0 <= at < len(document.parts):
            self.refresh()
            return
        self._spot = document.parts[at]
        row, top = document.tops[at], self.scroll_offset.y
        if not top <= row < top + self.size.height:
            self._settle(max(0, row - self.size.height // 3))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Open or close the clicked fold, or follow the clicked link; a clicked image is only selected."""
        offset = event.get_content_offset(self)
        row = self.scroll_offset.y + offset.y if offset is not None else -1
        clicked = self._spots(row, row + 1) if row >= 0 else []
        if clicked and self.text_selection is None:
            self._spot = self._document.parts[clicked[0]]
            if isinstance(self._spot, EntryLink):
                self.post_message(self.LinkClicked(self._spot.index))
            self.toggle_spot()
            self.refresh()

    # -- drawing ------------------------------------------------------------------------------------------------

    def line_at(self, row: int) -> Line:
        """Return the styled text of a row of the document; empty if the row is below the document's end."""
        if not 0 <= row < self._document.height:
            return []
        index = bisect_right(self._document.tops, row) - 1
        rows = self._document.rows(index)
        within = row - self._document.tops[index]
        return rows[within] if within < len(rows) else []

    def render_line(self, y: int) -> Strip:
        """Return the cells of the visible row number `y`, counted from the top of the pane."""
        width = self.room
        if not self.has_parts:
            return self.render_empty(y, width)
        if not self._width and self._document.width != max(1, width):
            # Wrap the document here for the first frame, which Textual paints before it calls `on_resize`.
            self._document.fit(width)
        row = self.scroll_offset.y + y
        line = self.line_at(row)
        if self._marks is not None and line:
            places = self._marks("".join([text for text, _ in line]))
            line = overlay(line, places, "match") if places else line
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            start, end = span
            line = overlay(line, [(start, len("".join([text for text, _ in line])) if end < 0 else end)], "selection")
        return self.paint(line, width, "cursor-blurred" if self._is_chosen(row) else "").apply_offsets(0, row)

    def _is_chosen(self, row: int) -> bool:
        index = self._document.index_at(row)
        document = self._document
        if not self.has_focus or index >= len(document.parts) or document.tops[index] != row:
            return False
        return isinstance(document.parts[index], Spot) and self._spot_index() == index

    # -- copying with the mouse ---------------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that the user selected with the mouse, and the line break that Textual adds after it."""
        if selection.start is None and selection.end is None:
            return self.plain(), "\n"
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self._document.height - 1
        rows: list[str] = []
        for row in range(first, last + 1):
            text = "".join([piece for piece, _ in self.line_at(row)])
            span = selection.get_span(row)
            if span is not None:
                start, end = span
                rows.append(text[start:] if end < 0 else text[start:end])
        return "\n".join(rows).rstrip(), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaint the document, because the user changed the selection with the mouse."""
        self.refresh()
