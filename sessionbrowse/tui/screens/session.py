"""A session: its tree beside an entry in full, the context at that entry, or its raw line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model import tree
from sessionbrowse.model.session import ROOT, Session
from sessionbrowse.model.session_facts import Summary
from sessionbrowse.store.remembered import SessionView
from sessionbrowse.text import clean
from sessionbrowse.tui.actions.fresh import Fresh
from sessionbrowse.tui.actions.widths import apply_widths
from sessionbrowse.tui.command import Here
from sessionbrowse.tui.jobs import Job, Outcome
from sessionbrowse.tui.marked import apart
from sessionbrowse.tui.memory import tree_filter_of
from sessionbrowse.tui.places import SESSION, TREE, VIEW
from sessionbrowse.tui.reading.parts import Part
from sessionbrowse.tui.reading.views import VIEWS, Look, Looked, ViewName, document
from sessionbrowse.tui.render import CRUMB, folder_name, one_line, plural
from sessionbrowse.tui.screens.base import CommandScreen
from sessionbrowse.tui.screens.found import find_again
from sessionbrowse.tui.spans import Line
from sessionbrowse.tui.tree_rows import TreeStyle, hits_in, shift_for, tree_row
from sessionbrowse.tui.tree_search import TreeRows, TreeState, make_rows
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

KEPT_TEXTS = 4000
"""Row texts kept, so that moving the cursor does not read entries again."""

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


class SessionScreen(CommandScreen[None]):
    """One session."""

    ACTIONS = (
        "finding:Finding",
        "naming:Naming",
        "entries:Entries",
        "undoing:Undoing",
        "viewing:Viewing",
        "copying:Copying",
        "resuming:Resuming",
        "widths:Widths",
        "own:OwnCommands",
    )

    def __init__(self, summary: Summary, index: int | None = None, entry_id: str | None = None) -> None:
        super().__init__(name="session")
        self.summary = summary
        self.session: Session | None = None
        self.state = TreeState(filter="default")
        self.rows = tree.Rows([])
        self.view: ViewName = "entry"
        self.label_times = False
        self.marked: int | None = None
        self._wanted = (index, entry_id)
        self._left: SessionView | None = None
        self.widths: dict[str, int] = {}
        self._row_of: dict[int, int] = {}
        self._hits: list[int] = []
        self._made: TreeRows | None = None
        self._branch_rows: list[int] = []
        self._style = TreeStyle(now_ms=0, home="")
        self._drawn_shift = 0
        self._texts: dict[int, str] = {}

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
        self.state = TreeState(filter=tree_filter_of(self._left, self.browser.options.settings))
        if self._wanted == (None, None) and self._left is not None:
            self._wanted = (None, self._left.entry)
        self.tree_list.border_title = "Tree"
        self._title_view()
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
            foldable=row is not None and row.foldable,
            branch_points=len(self._branch_rows),
            labels=len(self.session.labels) if self.session is not None else 0,
            blocks=self.text_view.spot is not None,
            image=self.text_view.shown_image() is not None,
            problems=len(self.session.problems) if self.session is not None else 0,
            has_entry=self.entry_id is not None,
        )

    @property
    def row(self) -> tree.Row | None:
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

    def sessions_changed(self, fresh: Fresh) -> None:
        """Read the file again if a change touched it; go back where it is gone."""
        if self.summary.path in fresh.gone and self.is_current:
            self.dismiss(None)
            return
        for summary in fresh.summaries:
            if summary.path == self.summary.path:
                self.summary = summary
        if self.summary.path in fresh.paths:
            self._open()

    def show_entry(self, entry_id: str) -> None:
        """Put the cursor on an entry, or on the nearest row above it."""
        self._wanted = (None, entry_id)
        self._ask_rows(self.state)

    def moving(self) -> RowList | TextView | None:
        """The focused pane; the tree while the search is typed."""
        return self.tree_list if self.typing else super().moving()

    # -- opening ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        summary = self.summary

        def load(job: Job) -> Session:
            return self.browser.open_session(summary.path, summary.agent)

        self.lane("open").ask(load)

    def take_open(self, outcome: Outcome) -> None:
        """Show the session, or why it cannot be read."""
        if outcome.error is not None:
            sentence = str(outcome.error) if isinstance(outcome.error, SessionBrowseError) else repr(outcome.error)
            self.tree_list.set_rows([], empty=one_line(sentence))
            self.browser.say(sentence, "error")
            return
        # Who stands at the end follows it, as `tail -f` does; elsewhere what is read stays.
        before, index = self.session, self.index
        if before is not None and index is not None and self._wanted == (None, None):
            at_end = index == self._leaf_row(before)
            self._wanted = (None, outcome.value.leaf_id if at_end else before.ids[index])
        if before is not None and len(outcome.value.ids) < len(before.ids):
            # It was rewritten: its rows are entries of another file.
            self.rows, self._row_of, self._hits, self._branch_rows = tree.Rows([]), {}, [], []
            self.tree_list.set_rows([])
        self.session = outcome.value
        self.marked = None if self.marked is not None and self.marked >= len(self.session.ids) else self.marked
        self._texts = {}
        self._show_header()
        self._ask_rows(self._with_folds_as_left(self.state))

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

    def on_resize(self, event: events.Resize) -> None:
        """Give the tree the width of its own where there is room."""
        apply_widths(self)

    def _entry_crumb(self) -> str:
        session, index = self.session, self.index
        mark = session.labels.get(index) if session is not None and index is not None else None
        return f"⚑ {one_line(mark.text, 24)}" if mark is not None else clean(self.entry_id or "")[:8]

    def _show_header(self) -> None:
        summary, session = self.summary, self.session
        name = (session.name if session is not None else summary.name) or summary.first_message or "(no messages)"
        where = folder_name(summary.cwd, self.browser.home) if summary.cwd else ("(no directory)", "")
        left: Line = [(where[0], "dim"), *CRUMB, (one_line(name, 60), "title")]
        if self.entry_id is not None:
            left += [*CRUMB, (self._entry_crumb(), "dim")]
        left.append((f"   {summary.agent}", "dim"))
        right: Line = []
        if session is not None:
            if session.problems:
                key = self.browser.keys.key_of("damage")
                right.append((f"✗ {plural(len(session.problems), 'problem')} ({key})   ", "error"))
            points = plural(summary.branch_count, "branch", "branches")
            right.append((f"{plural(len(session.ids), 'entry', 'entries')} · {points}", "dim"))
            if session.leaf_id:
                right.append((f" · leaf {clean(session.leaf_id)[:8]}", "dim"))
        self.query_one("#header", Bar).show(left, right)

    # -- the tree -----------------------------------------------------------------------------------------------

    def _ask_rows(self, state: TreeState) -> None:
        self.state = state
        session = self.session
        if session is None:
            return

        before = self._made
        self.lane("rows").ask(lambda job: make_rows(session, state, before, job))

    def take_rows(self, outcome: Outcome) -> None:
        """Show the rows of a new filter, search or fold; the cursor stays on its entry or goes to one above it."""
        if outcome.error is not None:
            raise outcome.error
        made: TreeRows = outcome.value
        self._made = made
        before = self.index
        self.rows = made.rows
        indexes = self.rows.indexes()
        self._row_of = dict(zip(indexes, range(len(indexes)), strict=True))
        self._branch_rows = self.rows.connected()
        self._hits = self.rows.hits() if made.state.query else []
        self._restyle()
        self.tree_list.set_rows(indexes, cursor=self._cursor_for(before), empty=self._empty_sentence())
        self._title_tree()
        self._refresh_view()
        if self.query_one(FilterLine).display:
            self._say_found()

    def _leaf_row(self, session: Session) -> int | None:
        """Return the entry at whose row the leaf is, or the nearest above it."""
        index = session.leaf
        while index is not None and index != ROOT and index not in self._row_of:
            index = session.parents[index]
        return index

    def _cursor_for(self, before: int | None) -> int | None:
        session = self.session
        assert session is not None
        wanted = find_again(session, *self._wanted)
        is_hidden = wanted is not None and wanted not in self._row_of
        # A hit is shown whatever hides it; who only follows the leaf keeps the rows as they are.
        if is_hidden and self._wanted[0] is not None and self.state.filter != "all":
            self._ask_rows(TreeState("all"))
        else:
            self._wanted = (None, None)
        wanted = before if wanted is None else wanted
        if wanted is None:
            wanted = session.leaf
        while wanted is not None and wanted != ROOT:
            if wanted in self._row_of:
                return wanted
            wanted = session.parents[wanted]
        return self.rows[-1].index if self.rows else None

    def _empty_sentence(self) -> str:
        keys = self.browser.keys.key_of
        if self.session is not None and not self.session.envelopes:
            return "This session has no entries."
        if self.state.query:
            if self._made is not None and not self._made.finished:
                return "Searching …"
            return f"No entry matches “{one_line(self.state.query, 60)}”. {keys('back')} clears the search."
        if self.state.filter == "labeled-only":
            return f"No entry has a label. {keys('filter_default')} shows the usual rows."
        return f"No entry is shown in these rows. {keys('filter_all')} shows all."

    def _title_tree(self) -> None:
        title: list[tuple[str, str]] = [("Tree", "")]
        if self.state.filter != "default":
            title.append((f" · {self.state.filter}", "$accent"))
        if self.state.query:
            title.append((f" · /{one_line(self.state.query, 24)}", "$accent"))
        self.tree_list.border_title = Content.assemble(*title)
        self.tree_list.border_subtitle = f"{len(self.rows):,}"

    def _render_row(self, position: int, width: int, state: RowState) -> Line:
        session = self.session
        assert session is not None
        row = self.rows[position]
        text = self._texts.get(row.index)
        if text is None:
            if len(self._texts) > KEPT_TEXTS:
                self._texts.clear()
            try:
                text = tree.row_text(session, row.index, self.browser.home)
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
        self._refresh_view()
        self._show_header()
        self.update_footer()

    @on(RowList.Entered)
    def _entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.do_open()

    # -- the view -----------------------------------------------------------------------------------------------

    def _refresh_view(self) -> None:
        session, index, view = self.session, self.index, self.view
        if session is None or index is None:
            self.lane("view").cancel()
            self.text_view.show([], empty="Nothing is chosen in the tree.")
            return
        look = Look(
            view=view,
            index=index,
            marked=self.marked,
            width=self.text_view.room,
            now_ms=self.browser.now_ms(),
            home=self.browser.home,
        )
        self.set_class(view == "diff", "-comparing")

        def make(job: Job) -> list[Part]:
            return document(session, look)

        self.lane("view").ask(make)
        self._title_view()

    def show_view(self, view: ViewName) -> None:
        """Show another view of the entry under the cursor."""
        self.view = view
        self._refresh_view()

    def on_text_view_resized(self, event: TextView.Resized) -> None:
        """Compare anew where columns now fit beside each other, or no longer."""
        if self.view == "diff":
            self._refresh_view()

    @property
    def looked_at(self) -> Looked:
        """What copies are made of."""
        return Looked(summary=self.summary, session=self.session, index=self.index, view=self.view)

    def take_view(self, outcome: Outcome) -> None:
        """Show the document of the entry under the cursor."""
        if outcome.error is not None:
            sentence = str(outcome.error) if isinstance(outcome.error, SessionBrowseError) else repr(outcome.error)
            self.text_view.show([], empty=one_line(sentence))
            return
        searched = tuple(self.state.query.lower().split()) if self.view == "entry" else ()
        marks = (lambda row: apart(hits_in(row, searched))) if searched else None
        self.text_view.show(outcome.value, marks=marks)

    def _title_view(self) -> None:
        title: list[tuple[str, str]] = []
        for view in VIEWS:
            if title:
                title.append((" │ ", "$sb-faint"))
            title.append((view.capitalize(), "bold $primary" if view == self.view else "not bold $sb-dim"))
        self.text_view.border_title = Content.assemble(*title)
        session, index = self.session, self.index
        if session is not None and index is not None:
            at = clean(session.ids[index] or "no id")[:8]
            self.text_view.border_subtitle = Content(f"at {at}" if self.view == "context" else at)

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
            self._search("")
            self.query_one(FilterLine).close()
        else:
            self.browser.memory.note_session(self)
            self.dismiss(None)

    def do_next_view(self) -> None:
        """Show the next view."""
        self.show_view(VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)])

    def do_previous_view(self) -> None:
        """Show the view before."""
        self.show_view(VIEWS[(VIEWS.index(self.view) - 1) % len(VIEWS)])

    def do_zoom(self) -> None:
        """Give the pane the whole screen."""
        self.toggle_class("-zoomed")

    def do_reload(self) -> None:
        """Read the file again."""
        self._open()

    # -- commands: moving in the tree ---------------------------------------------------------------------------

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

    def do_tree_page_up(self) -> None:
        """Move up by a page."""
        self.tree_list.page_up()

    def do_tree_page_down(self) -> None:
        """Move down by a page."""
        self.tree_list.page_down()

    def do_leaf(self) -> None:
        """Jump to the leaf, or to the nearest row above it."""
        index = self._cursor_for(self.session.leaf) if self.session is not None else None
        if index is not None:
            self.tree_list.go_to_key(index)

    def do_next_branch(self) -> None:
        """Jump to the next branch point."""
        self._jump([position for position in self._branch_rows if position > self.tree_list.cursor], "below")

    def do_previous_branch(self) -> None:
        """Jump to the branch point before."""
        self._jump([position for position in self._branch_rows if position < self.tree_list.cursor][::-1], "above")

    def _jump(self, positions: list[int], where: str) -> None:
        if positions:
            self.tree_list.go(positions[0])
        else:
            self.browser.say(f"There is no other one {where}.")

    def do_next_turn(self) -> None:
        """Jump to the next row of the user or the assistant."""
        self._jump([p for p in range(self.tree_list.cursor + 1, len(self.rows)) if self._is_turn(p)][:1], "below")

    def do_previous_turn(self) -> None:
        """Jump to the row of the user or the assistant before."""
        self._jump([p for p in range(self.tree_list.cursor - 1, -1, -1) if self._is_turn(p)][:1], "above")

    def _is_turn(self, position: int) -> bool:
        assert self.session is not None
        kind = self.session.kind(self.rows[position].index)
        return kind.type == "message" and kind.role in ("user", "assistant")

    # -- commands: folding --------------------------------------------------------------------------------------

    def do_toggle_fold(self) -> None:
        """Fold or unfold the row."""
        row = self.row
        if row is not None:
            self._fold(row.index, not row.folded)

    def _fold(self, index: int, folded: bool) -> None:
        chosen = self.state.folded | {index} if folded else self.state.folded - {index}
        self._ask_rows(TreeState(self.state.filter, self.state.query, frozenset(chosen)))

    def do_fold(self) -> None:
        """Fold the branch, or jump to where the segment above starts."""
        row = self.row
        if row is None:
            return
        if row.foldable and not row.folded:
            self._fold(row.index, True)
            return
        above = self._visible_parent(row.index)
        while above is not None and not self._starts_segment(above):
            above = self._visible_parent(self.rows[above].index)
        self.tree_list.go(above if above is not None else 0)

    def do_unfold(self) -> None:
        """Unfold the branch, or jump to the next segment's start or the branch's end."""
        row = self.row
        if row is None:
            return
        if row.folded:
            self._fold(row.index, False)
            return
        position = self.tree_list.cursor
        while position + 1 < len(self.rows) and self._visible_parent(self.rows[position + 1].index) == position:
            position += 1
            if self.rows[position].connector is not None:
                break
        self.tree_list.go(position)

    def _starts_segment(self, position: int) -> bool:
        row = self.rows[position]
        return row.connector is not None or self._visible_parent(row.index) is None

    def _visible_parent(self, index: int) -> int | None:
        """Return the position of the nearest row above an entry, None for a root."""
        assert self.session is not None
        parents = self.session.parents
        above = parents[index]
        while above != ROOT:
            if above in self._row_of:
                return self._row_of[above]
            above = parents[above]
        return None

    # -- commands: rows -----------------------------------------------------------------------------------------

    def _use_filter(self, name: str) -> None:
        # Choosing the filter that is on goes back to the usual rows, as pi's toggles do.
        chosen = "default" if name == self.state.filter else name
        self._ask_rows(TreeState(chosen, self.state.query))

    def do_filter_default(self) -> None:
        """Show the usual rows."""
        self._use_filter("default")

    def do_filter_no_tools(self) -> None:
        """Hide tool results."""
        self._use_filter("no-tools")

    def do_filter_user_only(self) -> None:
        """Show what the user said."""
        self._use_filter("user-only")

    def do_filter_labeled_only(self) -> None:
        """Show labelled entries."""
        self._use_filter("labeled-only")

    def do_filter_all(self) -> None:
        """Show all entries."""
        self._use_filter("all")

    def do_next_filter(self) -> None:
        """Go through the choices of rows."""
        self._ask_rows(TreeState(FILTERS[(FILTERS.index(self.state.filter) + 1) % len(FILTERS)], self.state.query))

    def do_previous_filter(self) -> None:
        """Go through the choices of rows backwards."""
        self._ask_rows(TreeState(FILTERS[(FILTERS.index(self.state.filter) - 1) % len(FILTERS)], self.state.query))

    def do_damage(self) -> None:
        """Show what is damaged in the file."""
        from sessionbrowse.tui.screens.damage import DamageScreen

        if self.session is not None:
            self.browser.push_screen(DamageScreen(self.session))

    def do_label_times(self) -> None:
        """Show or hide when labels were set."""
        self.label_times = not self.label_times
        self._restyle()
        self.tree_list.refresh()

    # -- commands: searching ------------------------------------------------------------------------------------

    def do_filter(self) -> None:
        """Search the tree while typing."""
        self.query_one(FilterLine).open("/", self.state.query, "words that an entry must all hold")
        self._say_found()

    def text_changed(self, text: str) -> None:
        """Search while typing."""
        self._search(text)

    def _search(self, query: str) -> None:
        if query.strip() != self.state.query:
            self._ask_rows(TreeState(self.state.filter, query.strip()))

    def _say_found(self) -> None:
        found = len(self._hits) if self.state.query else len(self.rows)
        status: Line = [(plural(found, "match", "matches"), "dim")]
        made = self._made
        if made is not None and not made.finished:
            status = [(f"searching … {made.behind:,}/{made.entries:,}  ", "accent"), *status]
        self.query_one(FilterLine).say(status)

    def position(self) -> str:
        """Return where the cursor stands in the rows, and among the hits of a search."""
        position = super().position()
        if not self._hits or self.moving() is not self.tree_list:
            return position
        cursor = self.tree_list.cursor
        at = bisect_left(self._hits, cursor)
        is_hit = at < len(self._hits) and self._hits[at] == cursor
        return f"hit {at + 1 if is_hit else '–'}/{len(self._hits):,} · {position}"

    def do_accept_filter(self) -> None:
        """Give the keys back to the tree."""
        self.set_focus(self.tree_list)
        if not self.state.query:
            self.query_one(FilterLine).close()

    def do_clear_filter(self) -> None:
        """Show all rows again."""
        self.set_focus(self.tree_list)
        self.query_one(FilterLine).close()
        self._search("")

    def do_next_hit(self) -> None:
        """Jump to the next hit, after the last to the first."""
        if self._hits:
            after = bisect_right(self._hits, self.tree_list.cursor)
            self.tree_list.go(self._hits[after % len(self._hits)])

    def do_previous_hit(self) -> None:
        """Jump to the hit before, from the first to the last."""
        if self._hits:
            self.tree_list.go(self._hits[bisect_left(self._hits, self.tree_list.cursor) - 1])
