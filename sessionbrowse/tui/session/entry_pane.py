"""The pane beside a session's tree: the entry under the cursor in full, the context there, its raw line, or a diff."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from textual.content import Content

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.text import clean
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.lists.rows import one_line
from sessionbrowse.tui.reading.views import VIEWS, Look, ViewName, document
from sessionbrowse.tui.search.match_spans import MatchMarks, apart
from sessionbrowse.tui.search.results_screen import find_again
from sessionbrowse.tui.session.tree_rows import hits_in
from sessionbrowse.tui.shell.cursor_debounce import Resting
from sessionbrowse.tui.shell.jobs import Job, Outcome
from sessionbrowse.tui.widgets.text_view import Marks, TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class EntryPane:
    """What the pane shows, and what it waits for; `came_for` is the hit that led here and what was searched for."""

    def __init__(self, screen: SessionScreen, came_for: tuple[int | None, str | None, str]) -> None:
        self._screen = screen
        self._came_for = came_for
        self.view: ViewName = "entry"
        self._looked_at: tuple[object, ...] = ()
        self._make: Callable[[Job], list[Part]] | None = None
        self._resting = Resting(screen, self._ask)

    @property
    def due(self) -> bool:
        """Whether the pane is still to follow the cursor."""
        return self._make is not None

    @property
    def _text(self) -> TextView:
        return self._screen.text_view

    def refresh(self, *, moved: bool = False) -> None:
        """Show the entry under the cursor; after the cursor `moved`, when it rests."""
        screen = self._screen
        session, index, view = screen.session, screen.index, self.view
        if session is None or index is None:
            self._make = None
            screen.lane("view").cancel()
            self._text.show([], empty="Nothing is chosen in the tree.")
            return
        look = Look(
            view=view,
            index=index,
            marked=screen.marked,
            width=self._text.room,
            now_ms=screen.browser.now_ms(),
            home=screen.browser.home,
        )
        screen.set_class(view == "diff", "-comparing")

        def make(job: Job) -> list[Part]:
            return document(session, look)

        self._make = make
        screen.lane("view").cancel()
        if not moved or self._resting.moved():
            # The frame that shows the cursor comes first.
            screen.after_frame(self._ask)

    def _ask(self) -> None:
        make, self._make = self._make, None
        if make is not None:
            self._screen.lane("view").ask(make)

    def take(self, outcome: Outcome) -> None:
        """Show the document of the entry under the cursor."""
        self.title()
        if outcome.error is not None:
            sentence = str(outcome.error) if isinstance(outcome.error, SessionBrowseError) else repr(outcome.error)
            self._text.show([], empty=one_line(sentence))
            return
        screen = self._screen
        session, index = screen.session, screen.index
        entry_id = session.ids[index] if session and index is not None else None
        before, self._looked_at = self._looked_at, (self.view, index, entry_id, screen.marked, screen.state.query)
        # A session that grows is read again at each line: what is being read stays under the eye.
        self._text.show(outcome.value, keep_place=self._looked_at == before, marks=self._marks())

    @cached_property
    def _found_marks(self) -> MatchMarks:
        return MatchMarks(self._screen, self._text)

    def _marks(self) -> Marks | None:
        """Return what is marked in the entry: what the tree is searched for, or the hit that led here."""
        session, query = self._screen.session, self._screen.state.query
        if self.view != "entry" or session is None:
            return None
        if query:
            searched = tuple(query.lower().split())
            return lambda row: apart(hits_in(row, searched))
        index, entry_id, text = self._came_for
        return (
            self._found_marks.of(text) if text and find_again(session, index, entry_id) == self._screen.index else None
        )

    def title(self) -> None:
        """Name the views, and the entry that is shown."""
        title: list[tuple[str, str]] = []
        for view in VIEWS:
            if title:
                title.append((" │ ", "$sb-faint"))
            style = "bold $primary" if view == self.view else "not bold $sb-dim"
            title.append((view.capitalize(), f"{style} @click=screen.look_at('{view}')"))
        self._text.border_title = Content.assemble(*title)
        session, index = self._screen.session, self._screen.index
        if session is not None and index is not None:
            at = clean(session.ids[index] or "no id")[:8]
            self._text.border_subtitle = Content(f"at {at}" if self.view == "context" else at)

    # -- views --------------------------------------------------------------------------------------------------

    def show(self, view: ViewName) -> None:
        """Show another view of the entry under the cursor, where only the tree is seen in its place."""
        self.view = view
        self.refresh()
        self._reveal()

    def turn(self, step: int) -> None:
        """Show the view so many further; whoever sees the tree only meets the view of now first."""
        if not self._reveal():
            self.show(VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)])

    def _reveal(self) -> bool:
        """Give the keys to the pane if it is not seen, which shows it; return whether it was so."""
        if self._text.display:
            return False
        self._screen.set_focus(self._text)
        return True
