"""A session: its tree beside an entry in full, the context at that entry, or its raw line."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.lazy_rows import Row, Rows
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.model.tree.tool_callers import learn_calls
from sessionbrowse.store.own.remembered_views import SessionView
from sessionbrowse.tui.commands.command import Here
from sessionbrowse.tui.commands.contexts import SESSION, TREE, VIEW
from sessionbrowse.tui.lists.rows import one_line
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.views import VIEWS, Looked, ViewName
from sessionbrowse.tui.search.results_screen import ENTRY_IS_GONE, find_again
from sessionbrowse.tui.session.entry_pane import EntryPane
from sessionbrowse.tui.session.shown_tree import NOTHING_SHOWN, shown_tree
from sessionbrowse.tui.session.titles import (
    facts_line,
    found_status,
    hit_position,
    no_rows_sentence,
    path_line,
    tree_title,
)
from sessionbrowse.tui.session.tree_rows import TreeStyle, shift_for, tree_row
from sessionbrowse.tui.session.tree_search import TreeRows, TreeState, make_rows
from sessionbrowse.tui.shell.jobs import Job, Outcome
from sessionbrowse.tui.shell.paned_screen import PanedScreen
from sessionbrowse.tui.shell.session_updates import SessionUpdates
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

NARROW = 80
"""Columns below which a line says only what matters most."""
KEPT_TEXTS = 4000
"""Row texts kept, so that moving the cursor does not read entries again."""


class SessionScreen(PanedScreen):
    """One session."""

    ACTIONS = (
        "search.open_search:Finding",
        "changes.rename:Naming",
        "changes.label_checkout:Entries",
        "changes.undo:Undoing",
        "session.tree_moving:TreeMoving",
        "session.tree_folding:TreeFolding",
        "session.tree_filters:TreeChoosing",
        "session.tree_find:TreeFinding",
        "session.entry_view:Viewing",
        "outside.copying:Copying",
        "resume.resume:Resuming",
        "resume.custom_commands:OwnCommands",
    )

    def __init__(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        super().__init__(name="session")
        self.summary = summary
        self.session: Session | None = None
        self.state = TreeState(filter="default")
        self.shown = NOTHING_SHOWN
        self.label_times = False
        self.marked: int | None = None
        self._wanted = (index, entry_id)
        self._stood: int | None = None
        self._left: SessionView | None = None
        self._is_gone = False
        self._style = TreeStyle(now_ms=0, home="")
        self._drawn_shift = 0
        self._texts: dict[int, str] = {}
        self._beside = EntryPane(self, (index, entry_id, searched))

    # -- layout -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out bar, tree, view, filter line and footer."""
        yield Bar(id="header")
        with Horizontal(id="panes"):
            yield RowList(self._render_row, id="tree", classes="pane", empty="Opening …")
            yield TextView(id="view", classes="pane", empty="")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Open the file."""
        self._left = self.browser.memory.session(self.summary.path)
        self.state = TreeState(filter=self._left.filter)
        if self._wanted == (None, None):
            self._wanted = (None, self._left.entry)
        self.tree_list.border_title = "Tree"
        self._beside.title()
        self._show_header()
        self.set_focus(self.tree_list)
        self.add_class("-at-tree")
        self._open()

    @property
    def tree_list(self) -> RowList:
        """The tree's rows, keyed by entry index."""
        return self.query_one("#tree", RowList)

    @property
    def text_view(self) -> TextView:
        """The pane beside it."""
        return self.query_one("#view", TextView)

    @property
    def pane(self) -> str:
        """The pane that has the keys."""
        return "view" if self.focused is self.text_view else "tree"

    def nearest_places(self) -> tuple[str, ...]:
        """The pane, then the screen."""
        return (TREE if self.pane == "tree" else VIEW, SESSION)

    def here(self) -> Here:
        """Return what commands may ask."""
        row = self.row
        return Here(
            has_rows=bool(self.rows),
            has_session=True,
            has_filter=bool(self.state.query),
            foldable=row is not None and (row.foldable or row.folded),
            branch_points=len(self.shown.branch_points),
            labels=len(self.session.labels) if self.session is not None else 0,
            blocks=self.text_view.spot is not None,
            image=self.text_view.shown_image() is not None,
            problems=len(self.session.problems) if self.session is not None else 0,
            has_entry=self.entry_id is not None,
        )

    @property
    def rows(self) -> Rows:
        """The tree's rows."""
        return self.shown.rows

    @property
    def row(self) -> Row | None:
        """The tree's row under the cursor."""
        return self.rows[self.tree_list.cursor] if self.rows else None

    @property
    def index(self) -> int | None:
        """The entry under the cursor."""
        row = self.row
        return row.index if row is not None else None

    @property
    def subject(self) -> Summary:
        """This session."""
        return self.summary

    @property
    def entry_id(self) -> str | None:
        """The id of the entry under the cursor."""
        session, index = self.session, self.index
        return session.envelopes[index].id or None if session is not None and index is not None else None

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry under the cursor, unless the agent resumes there anyway."""
        is_leaf = self.session is not None and self.index == self.session.leaf
        return None if is_leaf else self.entry_id

    @property
    def chosen(self) -> Sequence[Summary]:
        """The session that a change is for."""
        return [self.summary]

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Read the file again if a change touched it; go back where it is gone."""
        if self.summary.path in updates.paths:
            self._is_gone = self.summary.path in updates.gone
            self._leave_if_gone()
        for summary in updates.summaries:
            if summary.path == self.summary.path:
                self.summary = summary
        if self.summary.path in updates.paths and not self._is_gone:
            self._open(follows=True)

    def on_screen_resume(self) -> None:
        """Go back if the file went while something was asked about it."""
        self._leave_if_gone()

    def _leave_if_gone(self) -> None:
        if self._is_gone and self.is_mounted and self.is_top:
            self.browser.say(f"{one_line(self.summary.title, 60)} is not in its place any more.", "warning")
            self.dismiss(None)

    def show_entry(self, entry_id: str) -> None:
        """Put the cursor on an entry, or on the nearest row above it."""
        self._wanted = (None, entry_id)
        self.ask_rows(self.state)

    def moving(self) -> RowList | TextView | None:
        """The focused pane; the tree while the search is typed."""
        return self.tree_list if self.typing else super().moving()

    # -- opening ------------------------------------------------------------------------------------------------

    def _open(self, *, follows: bool = False) -> None:
        summary, before = self.summary, self.session

        def load(job: Job) -> Session:
            session = self.browser.open_session(summary.path, summary.agent)
            learn_calls(session, before)
            return session

        lane = self.lane("open")
        (lane.follow if follows else lane.ask)(load)

    def take_open(self, outcome: Outcome) -> None:
        """Show the session, or why it cannot be read."""
        if outcome.error is not None:
            sentence = str(outcome.error) if isinstance(outcome.error, SessionBrowseError) else repr(outcome.error)
            self.tree_list.set_rows([], empty=one_line(sentence))
            self.text_view.show([], empty="There is no entry to show.")
            self.browser.say(sentence, "error")
            return
        # Who stands at the tree's end follows it, as `tail -f` does; what is read stays.
        before, index = self.session, self.index
        if before is not None and index is not None and self._wanted == (None, None):
            at_end = self.pane == "tree" and index == self.shown.nearest(before.parents, before.leaf)
            self._wanted = (None, outcome.value.leaf_id if at_end else before.ids[index])
        if before is not None and len(outcome.value.ids) < len(before.ids):
            # It was rewritten: its rows are entries of another file.
            self.shown, self._stood = NOTHING_SHOWN, None
            self.tree_list.set_rows([])
        self.session = outcome.value
        self.marked = None if self.marked is not None and self.marked >= len(self.session.ids) else self.marked
        self._texts = {}
        self._show_header()
        self.ask_rows(self._with_folds_as_left(self.state))

    def _with_folds_as_left(self, state: TreeState) -> TreeState:
        left, session = self._left, self.session
        self._left = None
        if left is None or session is None or not left.folded:
            return state
        known = session.index_by_id
        return TreeState(state.filter, state.query, frozenset([known[one] for one in left.folded if one in known]))

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The pane whose width is changed, and whether wider means more (1) or less (-1) of it."""
        return "tree", -1 if self.pane == "view" else 1

    def _show_header(self) -> None:
        summary, session, keys = self.summary, self.session, self.browser.keys
        left = path_line(summary, session, self.index, self.browser.home)
        right = facts_line(summary, session, keys.key_of("damage"), narrow=self.size.width < NARROW)
        self.query_one("#header", Bar).show(left, right)

    # -- the tree -----------------------------------------------------------------------------------------------

    def ask_rows(self, state: TreeState) -> None:
        """Have the rows of a state made; they are shown when they come."""
        self.state = state
        session = self.session
        if session is None:
            return
        before, cursor, room = self.shown.made, self._standing, self.tree_list.room_around
        self.lane("rows").ask(lambda job: make_rows(session, state, before, job, cursor, room))
        self.expect(self.lane("rows"))

    def take_rows(self, outcome: Outcome) -> None:
        """Show the rows of a new filter, search or fold; the cursor stays on its entry or goes to one above it."""
        if outcome.error is not None:
            raise outcome.error
        made: TreeRows = outcome.value
        before = self._stood = self._standing
        self.shown = shown_tree(made)
        self._restyle()
        cursor = self.cursor_for(before)
        empty = no_rows_sentence(self.session, self.state, self.shown, self.browser.keys.key_of)
        self.tree_list.set_rows(self.rows.indexes, cursor=cursor, empty=empty)
        self.tree_list.border_title = tree_title(self.state)
        self.tree_list.border_subtitle = f"{len(self.rows):,}"
        self._beside.refresh()
        if self.query_one(FilterLine).display:
            self.say_found()

    @property
    def _standing(self) -> int | None:
        """The entry under the cursor, or where it stood before there were no rows."""
        return self._stood if self.index is None else self.index

    def cursor_for(self, before: int | None) -> int | None:
        """Return the entry that the cursor goes to: what was asked for, `before`, or the leaf; the nearest shown."""
        session = self.session
        assert session is not None
        wanted = find_again(session, *self._wanted)
        is_hidden = wanted is not None and wanted not in self.shown.position_of
        # A hit is shown whatever hides it; who only follows the leaf keeps the rows as they are.
        if is_hidden and self._wanted[0] is not None and self.state.filter != "all":
            self.ask_rows(TreeState("all"))
        else:
            if wanted is None and self._wanted[0] is not None:
                self.browser.say(ENTRY_IS_GONE, "warning")
            self._wanted = (None, None)
        wanted = before if wanted is None else wanted
        if wanted is None:
            wanted = session.leaf
        nearest = self.shown.nearest(session.parents, wanted)
        return nearest if nearest is not None or not self.rows else self.rows[-1].index

    def _render_row(self, position: int, width: int, state: RowState) -> Line:
        session = self.session
        assert session is not None
        row = self.rows[position]
        text = self._texts.get(row.index)
        if text is None:
            if len(self._texts) > KEPT_TEXTS:
                self._texts.clear()
            try:
                text = row_text(session, row.index, self.browser.home)
            except SessionBrowseError as error:
                text = str(error)
            self._texts[row.index] = text
        self._drawn_shift = self._shift()
        return tree_row(session, row, text, width, self._style, self._drawn_shift)

    def _shift(self) -> int:
        row = self.row
        return shift_for(row, self.tree_list.room - GUTTER) if row is not None else 0

    def mark(self, index: int | None) -> None:
        """Mark an entry that others are compared with, or none."""
        self.marked = index
        self._restyle()
        self.tree_list.refresh()

    def _restyle(self) -> None:
        self._style = TreeStyle(
            now_ms=self.browser.now_ms(),
            home=self.browser.home,
            label_times=self.label_times,
            marked=self.marked,
            words=tuple(self.state.query.lower().split()),
        )

    @on(RowList.Highlighted, "#tree")
    def _highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        if self._shift() != self._drawn_shift:
            self.tree_list.refresh()
        self._beside.refresh(moved=True)
        self._show_header()
        self.update_footer()

    @on(RowList.Entered)
    def _entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.do_open()

    # -- the view -----------------------------------------------------------------------------------------------

    @property
    def view(self) -> ViewName:
        """What is shown of the entry under the cursor."""
        return self._beside.view

    def show_view(self, view: ViewName) -> None:
        """Show another view of the entry under the cursor."""
        self._beside.show(view)

    @property
    def busy(self) -> bool:
        """Whether background work, or the wait before the view, is under way."""
        return super().busy or self._beside.due

    def on_text_view_resized(self, event: TextView.Resized) -> None:
        """Compare anew where columns now fit beside each other, or no longer."""
        if self.view == "diff":
            self._beside.refresh()

    @property
    def looked_at(self) -> Looked:
        """What copies are made of."""
        return Looked(summary=self.summary, session=self.session, index=self.index, view=self.view)

    def take_view(self, outcome: Outcome) -> None:
        """Show the document of the entry under the cursor."""
        self._beside.take(outcome)

    # -- commands -----------------------------------------------------------------------------------------------

    def focus_changed(self) -> None:
        """Tell the style sheet which pane has the keys."""
        self.update_classes({f"-at-{pane}": self.pane == pane for pane in ("tree", "view")})
        super().focus_changed()

    def do_open(self) -> None:
        """Go into the entry."""
        self.set_focus(self.text_view)

    def do_pane_left(self) -> None:
        """Give the keys to the tree."""
        self.set_focus(self.tree_list)

    def do_back(self) -> None:
        """Back to the tree, clear the search, or back to the list."""
        if self.pane == "view":
            self.set_focus(self.tree_list)
        elif self.state.query:
            self.search("")
            self.query_one(FilterLine).close()
        else:
            self.keep_view()
            self.dismiss(None)

    def keep_view(self) -> None:
        """Remember the cursor, the tree filter and the folds."""
        session = self.session
        if session is None:
            return
        ids = [session.ids[index] for index in sorted(self.state.folded)]
        # A cursor at the leaf stays at the leaf, whatever entry that is next time.
        view = SessionView(entry=self.entry_to_resume, filter=self.state.filter, folded=tuple(filter(None, ids)))
        self.browser.memory.note_session(self.summary.path, view)

    def action_look_at(self, view: str) -> None:
        """Show the view whose name was clicked."""
        self.show_view(next(known for known in VIEWS if known == view))

    def do_next_view(self) -> None:
        """Show the next view."""
        self._beside.turn(1)

    def do_previous_view(self) -> None:
        """Show the view before."""
        self._beside.turn(-1)

    def do_reload(self) -> None:
        """Read the file again."""
        self._open()

    def do_up(self) -> None:
        """Move up; in the tree past the first row to the last, as in pi."""
        if self.moving() is self.tree_list:
            self.tree_list.move(-1, wrap=True)
        else:
            super().do_up()

    def do_down(self) -> None:
        """Move down; in the tree past the last row to the first, as in pi."""
        if self.moving() is self.tree_list:
            self.tree_list.move(1, wrap=True)
        else:
            super().do_down()

    def do_damage(self) -> None:
        """Show what is damaged in the file."""
        from sessionbrowse.tui.session.damage import DamageScreen

        if self.session is not None:
            self.browser.push_screen(DamageScreen(self.session))

    def do_label_times(self) -> None:
        """Show or hide when labels were set."""
        self.label_times = not self.label_times
        self._restyle()
        self.tree_list.refresh()

    def text_changed(self, text: str) -> None:
        """Search while typing."""
        self.search(text)

    def search(self, query: str) -> None:
        """Search the tree; nothing shows all rows again."""
        if query.strip() != self.state.query:
            self.ask_rows(TreeState(self.state.filter, query.strip()))

    def say_found(self) -> None:
        """Show in the line how many rows are found."""
        self.query_one(FilterLine).say(found_status(self.state, self.shown))

    def position(self) -> str:
        """Return where the cursor stands in the rows, and among the hits of a search."""
        position, hits = super().position(), self.shown.hits
        if not hits or self.moving() is not self.tree_list:
            return position
        return f"{hit_position(hits, self.tree_list.cursor)} · {position}"
