"""The screen of one session: the tree of entries, and a pane that shows the entry under the cursor."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import LabelMark, Session
from sessionbrowse.tui.commands.command import LIST, SESSION, TREE, TREE_LINE, VIEW, CommandContext
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.paint.spans import line_width, one_line
from sessionbrowse.tui.reading.views import ENTRY_IS_GONE, VIEWS, ViewedEntry
from sessionbrowse.tui.session.entry_pane import EntryPane
from sessionbrowse.tui.session.titles import facts_line, hit_position, path_line
from sessionbrowse.tui.session.tree_pane import TreePane
from sessionbrowse.tui.session.tree_rows import TreeState
from sessionbrowse.tui.shell.paned_screen import ROOM_FOR, PanedScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList
from sessionbrowse.tui.widgets.span_view import Bar, KeyBar
from sessionbrowse.tui.widgets.text_view import TextView

LEAST_TREE, LEAST_VIEW = 40, 56
"""Least widths of the tree and of the entry pane beside it, in cells."""
TREE_EDGES = GUTTER + 3
"""Width in cells of the tree without the text of its rows: the border, the scroll bar, the cursor and the marks."""
NARROW = 80
"""Screen width below which the top bar shows the number of problems, but no numbers of entries and branches."""
LEAST_QUOTED = 100
"""Minimum screen width at which the footer quotes the query beside the number of the hit; a narrower one shows keys."""


class SessionScreen(PanedScreen):
    """The screen of one session.

    `index` and `entry_id` identify the entry at which the tree opens, if any. `searched` is the query that found the
    entry; its hits in this session are marked.
    """

    HOLD_SECONDS = 2.0
    TYPES_INTO = "filter"
    TYPING_CONTEXT = TREE_LINE
    ELSEWHERE: ClassVar = {
        VIEW: (TREE, "this command works in the tree", "pane_left"),
        TREE: (LIST, "this command works in the list of sessions", "back"),
    }

    def __init__(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        super().__init__(name="session")
        self.summary, self.place = summary, summary.path
        self._is_gone = self._is_own_change = False
        self._left_folded: tuple[str, ...] = ()
        self._headed_label: LabelMark | None = None
        self.tree_pane = TreePane(self, lambda: self.entry_pane.refresh())
        self.tree_pane.requested = (index, entry_id)
        self.tree_pane.state = TreeState(query=searched, whole=True)
        self.entry_pane = EntryPane(self, self.tree_pane)

    # -- layout -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the widgets: top bar, tree, entry pane, filter line and footer."""
        self.set_class(self.app.size.width < ROOM_FOR["tree"], "-one-pane", update=False)
        yield Bar(id="header")
        with Horizontal(id="panes"):
            tree = self.tree_pane
            # The cursor wraps around from the last row to the first, as in pi.
            yield RowList(
                tree.render_row, showing=tree.prepare_texts, wraps=True, id="tree", classes="pane", empty="Opening …"
            )
            yield TextView(id="view", classes="pane", empty="")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Restore the tree's saved cursor and folded branches; read the session's file in the background."""
        left = self.browser.memory.session(self.summary.path)
        self.tree_pane.restore(left)
        self._left_folded = left.folded
        self.tree_pane.row_list.border_title = "Tree"
        self.entry_pane.show_title()
        self._show_header()
        self.set_focus(self.tree_pane.row_list)
        self.add_class("-at-tree")
        self.read_file()

    @property
    def pane(self) -> str:
        """The name of the focused pane: "view" (the entry pane) or "tree"."""
        return "view" if self.focused is self.entry_pane.text else "tree"

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The name of the pane that "wider" resizes; and 1 if "wider" makes it wider, -1 if it makes it narrower."""
        return "tree", -1 if self.pane == "view" else 1

    def on_resize(self, event: events.Resize) -> None:
        """Fit the panes and the text of the top bar to the new width of the screen."""
        super().on_resize(event)
        self._show_header()

    def focus_changed(self) -> None:
        """Set a CSS class for the focused pane, because a narrow screen shows only one pane."""
        self.update_classes({f"-at-{pane}": self.pane == pane for pane in ("tree", "view")})
        super().focus_changed()

    def fit_panes(self) -> None:
        """Give the tree the width that its rows need, up to a limit that leaves room for the entry pane."""
        width, tree = self.size.width, self.tree_pane
        self.set_class(width < ROOM_FOR["tree"], "-one-pane")
        if width < ROOM_FOR["tree"]:
            tree.row_list.styles.width = "1fr"
            return
        most = width - max(LEAST_VIEW, width * 2 // 5)
        if self.has_class("-comparing"):
            # A comparison shows two branches side by side, which need the room.
            most = width * 3 // 10
        needed = max(LEAST_TREE, tree.cells_needed + TREE_EDGES)
        tree.row_list.styles.width = min(self.widths.get("tree", min(needed, most)), width * 2 // 3)

    def moving(self) -> RowList | TextView | None:
        """Return the pane that movement keys act on: the focused pane, or the tree while the user types a search."""
        return self.tree_pane.row_list if self.typing else super().moving()

    # -- state that commands use --------------------------------------------------------------------------------

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        if self.typing:
            return (TREE_LINE, TREE, SESSION)
        return (TREE if self.pane == "tree" else VIEW, SESSION)

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are enabled."""
        tree, row, session, text = self.tree_pane, self.tree_pane.row, self.session, self.entry_pane.text
        return CommandContext(
            has_rows=bool(tree.rows),
            has_session=True,
            has_filter=bool(tree.state.query),
            foldable=row is not None and (row.foldable or row.folded),
            branch_points=len(tree.rows.connected),
            labels=len(session.labels) if session is not None else 0,
            blocks=text.spot is not None,
            image=text.shown_image() is not None,
            has_entry=self.entry_id is not None,
            has_project=bool(self.project),
        )

    @property
    def back_clears(self) -> str:
        """The footer's words for the next step of "back"; "" if that step leaves the tree or the view."""
        tree = self.tree_pane
        if self.pane == "view":
            return ""
        if self.entry_pane.compared_from is not None:
            return "end comparison"
        return "clear selection" if tree.row_list.marks else "clear search" if tree.shown.stops is not None else ""

    @property
    def session(self) -> Session | None:
        """The opened session; None until the session's file is read."""
        return self.tree_pane.session

    @property
    def index(self) -> int | None:
        """The position of the entry under the cursor among the session's entries; None if the tree has no rows."""
        return self.tree_pane.index

    @property
    def subject(self) -> Summary:
        """The summary of the session that the screen shows."""
        return self.summary

    @property
    def entry_id(self) -> str | None:
        """The id of the entry under the cursor; None if the entry has no id."""
        return self.tree_pane.entry_id

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry under the cursor; None at the leaf, from which the agent resumes by default."""
        return self.tree_pane.entry_to_resume

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change acts on: only the session of this screen."""
        return [self.summary]

    @property
    def viewed_entry(self) -> ViewedEntry:
        """The session and entry that copy commands use, and the view of the entry pane (such as "raw")."""
        return ViewedEntry(summary=self.summary, session=self.session, index=self.index, view=self.entry_pane.view)

    def position(self) -> str:
        """Return the text for the footer: the cursor's position among the rows, and among the hits of a search."""
        position, tree = super().position(), self.tree_pane
        if self.moving() is not tree.row_list or not tree.state.query:
            return position
        hit = hit_position(tree.shown.hits, tree.row_list.cursor)
        if not tree.state.whole:
            return hit
        quoted = f'"{one_line(tree.state.query, 12)}" ' if self.size.width >= LEAST_QUOTED else ""
        return f"{quoted}{hit} · {position}"

    @property
    def busy(self) -> bool:
        """True during background work, or while the pane does not show the entry under the cursor yet."""
        return super().busy or self.entry_pane.due

    @property
    def awaits_rows(self) -> bool:
        """True until the session is read and the rows of its tree are made."""
        return self.tree_pane.shown.session is None

    # -- the session's file -------------------------------------------------------------------------------------

    def read_file(self, *, follows: bool = False) -> None:
        """Read the session's file in the background; with `follows`, without stopping a reading that is under way."""
        summary = self.summary

        def load(job: Job) -> Session:
            return self.browser.open_session(summary.path, summary.agent)

        lane = self.lane("open", self._show_session)
        (lane.follow if follows else lane.ask)(load)

    def _show_session(self, outcome: Outcome) -> None:
        """Show the session after its file was read, or the reason why the file cannot be read."""
        if outcome.error is not None:
            self.tree_pane.row_list.set_rows([], empty=one_line(outcome.sentence))
            self.entry_pane.text.show([], empty="There is no entry to show.")
            self.browser.say(outcome.sentence, "error")
            self.run_held()
            return
        # If the file has grown, a cursor at the leaf moves to the new leaf, unless the entry pane has the focus.
        self.tree_pane.open(outcome.value, self._left_folded, follows_leaf=self.pane == "tree")
        self._left_folded = ()
        self._show_header()

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Read the session's file again if it changed; go back to the previous screen if the file is gone."""
        if self.summary.path in updates.paths:
            self._is_gone, self._is_own_change = self.summary.path in updates.gone, self.browser.changes.busy
            self.on_screen_resume()
        for summary in updates.summaries:
            if summary.path == self.summary.path:
                self.summary = summary
        if self.summary.path in updates.paths and not self._is_gone:
            self.read_file(follows=True)

    def on_screen_resume(self) -> None:
        """Close this screen if the session's file is gone, at the latest when the dialog above it is closed."""
        if self._is_gone and self.is_mounted and self.is_top:
            # The toast of the user's own change has already said what happened.
            if not self._is_own_change:
                gone = f"{one_line(self.summary.title, 60)} is gone: its file was moved or deleted."
                self.browser.say(gone, "warning")
            self.dismiss(None)

    def keep_view(self) -> None:
        """Save the cursor, the tree filter and the folded branches for the next time this session is opened."""
        view = self.tree_pane.view()
        if view is not None:
            self.browser.memory.note_session(self.summary.path, view)

    # -- the panes ----------------------------------------------------------------------------------------------

    @property
    def _label(self) -> LabelMark | None:
        """The label of the entry under the cursor, which the top bar names."""
        return self.session.labels.get(self.index) if self.session is not None and self.index is not None else None

    def _show_header(self) -> None:
        self._headed_label = self._label
        key = self.browser.keys.key_of("problems")
        right = facts_line(self.summary, self.session, key, narrow=self.size.width < NARROW)
        room = self.size.width - line_width(right) - 3
        left = path_line(self.summary, self.session, self._headed_label, self.browser.home, room)
        self.query_one("#header", Bar).show(left, right)

    def reveal(self, key: Hashable) -> bool:
        """Put the cursor on the entry with this id, or on its nearest ancestor that has a row."""
        self.tree_pane.show_entry(str(key))
        return True

    def go_to_entry(self, index: int) -> None:
        """Put the cursor on the target entry of a link, and show the entry."""
        session = self.session
        # An agent may have rewritten the file since the link was shown, so that the entry no longer exists.
        if session is None or index >= len(session.ids):
            self.browser.say(ENTRY_IS_GONE, "warning")
            return
        self.entry_pane.view = "entry"
        self.tree_pane.show_entry(session.ids[index], index)

    def on_text_view_link_clicked(self, event: TextView.LinkClicked) -> None:
        """Go to the entry of a clicked link."""
        self.go_to_entry(event.index)

    def text_changed(self, text: str) -> None:
        """Search the tree for the typed text, again after each typed letter."""
        self.tree_pane.search(text)

    @on(RowList.Highlighted, "#tree")
    def _highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self.tree_pane.follow_cursor()
        self.entry_pane.refresh(moved=True)
        if self._label != self._headed_label:
            self._show_header()
        self.update_footer()

    @on(RowList.Marked, "#tree")
    def _branch_marked(self, event: RowList.Marked) -> None:
        event.stop()
        self.tree_pane.show_count()

    def on_text_view_resized(self, event: TextView.Resized) -> None:
        """Lay out the diff view again for the new width, which decides whether the diff has two columns."""
        if self.entry_pane.view == "diff":
            self.entry_pane.refresh()

    def action_show_view(self, view: str) -> None:
        """Switch the entry pane to the view whose name the user clicked on the pane's border."""
        self.entry_pane.show(next(known for known in VIEWS if known == view))
