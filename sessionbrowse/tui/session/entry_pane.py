"""The entry pane beside a session's tree: shows the entry under the cursor as text, context, raw line or diff."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from sessionbrowse.text import clean
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import one_line
from sessionbrowse.tui.reading.views import VIEWS, ViewName, ViewRequest, document
from sessionbrowse.tui.session.tree_pane import TreePane
from sessionbrowse.tui.shell.match_spans import MatchMarks
from sessionbrowse.tui.shell.paned_screen import PanedScreen, Resting
from sessionbrowse.tui.widgets.text_view import FindMatches, TextView


class EntryPane:
    """The pane that shows the entry under the tree's cursor in one of several views."""

    def __init__(self, screen: PanedScreen, tree: TreePane) -> None:
        self._screen = screen
        self._tree = tree
        self.view: ViewName = "entry"
        self.compared_from: ViewName | None = None
        """The view from which the command "compare" switched to the diff; None after any other switch."""
        self._last_shown: tuple[object, ...] = ()
        self._make: Callable[[Job], list[Part]] | None = None
        self._resting = Resting(screen, self._ask)
        self._found_marks = MatchMarks(screen, "marks", lambda: self.text.marks_changed())

    @property
    def due(self) -> bool:
        """True while the pane waits for the moving cursor to rest before it reads the entry under the cursor."""
        return self._make is not None

    @property
    def text(self) -> TextView:
        """The widget that shows the text of the pane."""
        return self._screen.query_one("#view", TextView)

    def refresh(self, *, moved: bool = False) -> None:
        """Show the entry under the cursor; if the cursor has `moved` and moves quickly, wait until it rests."""
        screen, tree, view = self._screen, self._tree, self.view
        session, index = tree.session, tree.index
        screen.lane("view", self.receive).cancel()
        if session is None or index is None:
            self._make = None
            self.text.show([], empty="There is no entry to show.")
            return
        pair = tree.selected if len(tree.selected) == 2 and view == "diff" else [None, index]
        request = ViewRequest(
            view=view,
            index=pair[1] or 0,
            other=pair[0],
            width=self.text.room,
            now_ms=screen.browser.now_ms(),
            home=screen.browser.home,
            environ=screen.browser.options.environ,
            compare_keys=(screen.browser.keys.key_of("select"), screen.browser.keys.key_of("compare")),
        )
        if screen.has_class("-comparing") != (view == "diff"):
            screen.set_class(view == "diff", "-comparing")
            # A comparison of branches needs more room than other views.
            screen.fit_panes()
        self._make = lambda job: document(session, request)
        if not moved or self._resting.moved():
            # Paint the moved cursor first, because laying out the entry takes longer.
            screen.after_frame(self._ask)

    def _ask(self) -> None:
        make, self._make = self._make, None
        if make is not None:
            self._screen.lane("view", self.receive).ask(make)

    def receive(self, outcome: Outcome) -> None:
        """Show the result of the background job: the text of the entry under the cursor, or an error."""
        self.show_title()
        if outcome.error is not None:
            self.text.show([], empty=one_line(outcome.sentence))
            return
        tree = self._tree
        now = (self.view, tree.index, tree.entry_id, *tree.selected, tree.state.query)
        before, self._last_shown = self._last_shown, now
        # While the agent works, the session's file is read again often; this must not scroll an unchanged entry.
        self.text.show(outcome.value, keep_place=now == before, marks=self._marks())

    def _marks(self) -> FindMatches | None:
        """Return a function that finds the matches of the tree's search, to highlight them."""
        tree = self._tree
        # If the tree also shows entries that do not match, matches are marked only in hits, because any other entry may
        # contain a frequent word of the query.
        is_meant = tree.state.query and (not tree.state.whole or tree.row_list.cursor in tree.shown.hits)
        return self._found_marks.of(tree.state.query) if self.view == "entry" and is_meant else None

    def show_title(self) -> None:
        """Show the names of the views, and the id of the entry, on the border of the pane."""
        title: list[tuple[str, str]] = []
        for view in VIEWS:
            if title:
                title.append((" │ ", "$sb-faint"))
            style = "bold $primary" if view == self.view else "not bold $sb-dim"
            title.append((view.capitalize(), f"{style} @click=screen.show_view('{view}')"))
        self.text.border_title = Content.assemble(*title)
        session, index = self._tree.session, self._tree.index
        if session is not None and index is not None:
            entry = clean(session.ids[index] or "no id")[:8]
            self.text.border_subtitle = Content(entry if self.view in ("context", "raw") else "")

    # -- views --------------------------------------------------------------------------------------------------

    def show(self, view: ViewName) -> None:
        """Show the entry under the cursor in the given view; if the pane is hidden, show the pane."""
        self.view, self.compared_from = view, None
        self.refresh()
        self._reveal()

    def compare(self) -> None:
        """Show the diff; the command "back" then returns to the view shown before."""
        left = self.view if self.view != "diff" else self.compared_from
        self.show("diff")
        self.compared_from = left

    def end_comparison(self) -> bool:
        """Return to the view that was shown before the command "compare"; return False if none was."""
        if self.compared_from is None:
            return False
        self.view, self.compared_from = self.compared_from, None
        self.refresh()
        return True

    def turn(self, step: int) -> None:
        """Switch to the view that is `step` positions later in `VIEWS`; if the pane is hidden, only show the pane."""
        if not self._reveal():
            self.show(VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)])

    def _reveal(self) -> bool:
        """If the pane is hidden, focus the pane, which makes it visible, and return True; else return False."""
        if self.text.display:
            return False
        self._screen.set_focus(self.text)
        return True
