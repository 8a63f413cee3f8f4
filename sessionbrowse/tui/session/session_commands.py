"""Commands of a session: its panes, its tree (search, filters, folds, jumps), and the views of an entry beside it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial

from msgspec.structs import replace

from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import EntryLink
from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.session.tree_pane import TreePane
from sessionbrowse.tui.shell.command_screen import opens_by_resuming

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")

# -- panes ------------------------------------------------------------------------------------------------------------


def do_open(screen: SessionScreen) -> None:
    """Focus the entry pane; or resume the session at the entry (setting `enter`); or choose the entry (`pick`)."""
    if opens_by_resuming(screen):
        screen.run_command(screen.browser.keys.by_id["resume"])
    elif screen.browser.options.pick is None:
        do_browse(screen)
    elif screen.entry_id is not None:
        screen.browser.show_session(screen.summary, screen.index, screen.entry_id)
    else:
        screen.browser.say("This entry has no id, so it cannot be chosen.", "warning")


def do_browse(screen: SessionScreen) -> None:
    """Move the keyboard focus from the tree to the entry pane beside it."""
    screen.set_focus(screen.entry_pane.text)


def do_pane_left(screen: SessionScreen) -> None:
    """Focus the tree."""
    screen.set_focus(screen.tree_pane.row_list)


def do_back(screen: SessionScreen) -> None:
    """Go one step back: to the tree, from a comparison, from a selection or a search, or to the last screen."""
    tree = screen.tree_pane
    is_compared = screen.entry_pane.end_comparison()
    if screen.pane == "view":
        screen.set_focus(tree.row_list)
    elif is_compared:
        screen.update_footer()
    elif tree.row_list.marks:
        tree.row_list.clear_marks()
    elif tree.shown.stops is not None:
        tree.search("")
        tree.filter_line.close()
    else:
        screen.keep_view()
        screen.dismiss(None)


def do_reload(screen: SessionScreen) -> None:
    """Read the file of the shown session again."""
    screen.read_file()


# -- search -----------------------------------------------------------------------------------------------------------


def do_filter(screen: SessionScreen) -> None:
    """Open the search line of the tree, which searches while the user types."""
    tree = screen.tree_pane
    tree.searched_from = tree.index
    tree.filter_line.open("/", tree.state.query, "words that an entry must contain", replacing=True)
    tree.show_found()


def do_accept_filter(screen: SessionScreen) -> None:
    """Keep the search of the tree and focus the tree."""
    tree = screen.tree_pane
    screen.set_focus(tree.row_list)
    tree.searched_from = None
    if not tree.state.query:
        tree.filter_line.close()


def do_clear_filter(screen: SessionScreen) -> None:
    """Leave the search of the tree, so that the cursor is on the entry where it was before."""
    screen.set_focus(screen.tree_pane.row_list)
    screen.tree_pane.filter_line.close()
    screen.tree_pane.leave_search()


def do_search_beyond(screen: SessionScreen) -> None:
    """Search all sessions for the words in the tree's search line, or for the query of the tree's search."""
    tree = screen.tree_pane
    text = tree.filter_line.input.value.strip() if screen.typing else tree.state.query
    screen.keep_view()
    screen.browser.search_lists(text, screen.summary)


def do_labels(screen: SessionScreen) -> None:
    """List the labels of all sessions, in the session list; leaving that list returns to this screen."""
    screen.keep_view()
    screen.browser.search_lists("label:", screen.summary)


def _go_to_hit(screen: SessionScreen, step: int) -> None:
    tree = screen.tree_pane
    hits, cursor = tree.shown.hits, tree.row_list.cursor
    at = bisect_right(hits, cursor) if step > 0 else bisect_left(hits, cursor) - 1
    if not 0 <= at < len(hits) and tree.state.whole and (found := screen.browser.step_found(step)) is not None:
        screen.keep_view()
        screen.app.switch_screen(SessionScreen(found.summary, found.index, found.entry_id, tree.state.query))
    elif hits:
        tree.row_list.go(hits[at % len(hits)])
    else:
        screen.browser.say("No entry of this session matches the search.")


do_next_hit = partial(_go_to_hit, step=1)
"""Jump to the next hit of the search; after the last one, open the next session that was found, or start again."""
do_previous_hit = partial(_go_to_hit, step=-1)
"""Jump to the previous hit; before the first one, open the previous session that was found, or start at the end."""


# -- filters ----------------------------------------------------------------------------------------------------------


def do_answer_costs(screen: SessionScreen) -> None:
    """Show or hide in the tree the cost of each answer of the assistant."""
    screen.tree_pane.toggle_answer_costs()


def do_label_times(screen: SessionScreen) -> None:
    """Show or hide in the tree the time at which each label was set."""
    screen.tree_pane.toggle_label_times()


def _toggle(screen: SessionScreen, name: str) -> None:
    # Choosing the active filter again returns to the default filter, as pi's filter keys do.
    _use(screen.tree_pane, "default" if name == screen.tree_pane.state.filter else name)


def _step(screen: SessionScreen, delta: int) -> None:
    at = FILTERS.index(screen.tree_pane.state.filter)
    _use(screen.tree_pane, FILTERS[(at + delta) % len(FILTERS)])


def _use(tree: TreePane, name: str) -> None:
    tree.show(replace(tree.state, filter=name, folded=frozenset()))


do_filter_default = partial(_toggle, name="default")
"""Switch the tree to the filter "default", which shows the rows that pi's own tree shows when it opens."""
do_filter_no_tools = partial(_toggle, name="no-tools")
"""Hide tool results in the tree (filter "no-tools"); if they are hidden, return to the default filter."""
do_filter_user_only = partial(_toggle, name="user-only")
"""Show only user messages in the tree (filter "user-only"); if that filter is active, return to the default."""
do_filter_labeled_only = partial(_toggle, name="labeled-only")
"""Show only labelled entries in the tree; if that filter is active, return to the default filter."""
do_filter_all = partial(_toggle, name="all")
"""Show all entries in the tree (filter "all"); if that filter is active, return to the default filter."""
do_next_filter = partial(_step, delta=1)
"""Switch to the next of the five tree filters."""
do_previous_filter = partial(_step, delta=-1)
"""Switch to the previous of the five tree filters."""


# -- folds ------------------------------------------------------------------------------------------------------------


def do_toggle_fold(screen: SessionScreen) -> None:
    """Fold or unfold the branches below the row under the cursor."""
    row = screen.tree_pane.row
    if row is not None:
        _fold(screen.tree_pane, row.index, not row.folded)


def do_fold_all(screen: SessionScreen) -> None:
    """Fold all branches of the tree; if all branches are folded, unfold all."""
    tree = screen.tree_pane
    rows = tree.shown.unfolded
    branches = frozenset([rows[at].index for at in rows.connected if rows[at].foldable])
    if not branches:
        screen.browser.say("This session has no branches to fold.", "warning")
        return
    folded = tree.state.folded - branches if branches <= tree.state.folded else tree.state.folded | branches
    tree.show(replace(tree.state, folded=folded))


def do_fold(screen: SessionScreen) -> None:
    """Fold the branch under the cursor; if the row cannot be folded, move up to the row where its branch starts."""
    tree = screen.tree_pane
    row, shown = tree.row, tree.shown
    if row is None:
        return
    if row.foldable and not row.folded:
        _fold(tree, row.index, True)
        return
    above = shown.parent_position(tree.row_list.cursor)
    tree.row_list.go(shown.branch_start(above) if above is not None else 0)


def do_unfold(screen: SessionScreen) -> None:
    """Unfold the branch under the cursor; if it is not folded, move down to the next branch or this branch's end."""
    tree = screen.tree_pane
    row, rows = tree.row, tree.rows
    if row is None:
        return
    if row.folded:
        _fold(tree, row.index, False)
        return
    position = tree.row_list.cursor
    while position + 1 < len(rows) and tree.shown.parent_position(position + 1) == position:
        position += 1
        if rows[position].connector is not None:
            break
    tree.row_list.go(position)


def do_go_in(screen: SessionScreen) -> None:
    """Unfold the branch under the cursor; if it is not folded, focus the view of the entry."""
    row = screen.tree_pane.row
    if row is not None and row.folded:
        _fold(screen.tree_pane, row.index, False)
    else:
        do_browse(screen)


def _fold(tree: TreePane, index: int, folded: bool) -> None:
    chosen = tree.state.folded | {index} if folded else tree.state.folded - {index}
    tree.show(replace(tree.state, folded=frozenset(chosen)))


# -- moving -----------------------------------------------------------------------------------------------------------


def do_tree_page_up(screen: SessionScreen) -> None:
    """Move the tree's cursor up by a page."""
    screen.tree_pane.row_list.page_up()


def do_tree_page_down(screen: SessionScreen) -> None:
    """Move the tree's cursor down by a page."""
    screen.tree_pane.row_list.page_down()


def do_leaf(screen: SessionScreen) -> None:
    """Jump to the row of the leaf or, if the filter hides the leaf, of its nearest visible ancestor."""
    tree, session = screen.tree_pane, screen.session
    entry = tree.shown.nearest(session.leaf) if session is not None else None
    if tree.shown.stops is not None and (entry is None or tree.rows.position_of[entry] not in tree.shown.stops):
        back = screen.browser.keys.key_of("back")
        screen.browser.say(f"The leaf does not match the search; {back} clears the search.", "warning")
    elif entry is not None:
        tree.row_list.go(tree.rows.position_of[entry])


def _go_to_branch(screen: SessionScreen, step: int) -> None:
    cursor, points = screen.tree_pane.row_list.cursor, screen.tree_pane.rows.connected
    further = [at for at in points[::step] if (at - cursor) * step > 0]
    _jump(screen, next(iter(further), None), "branch point", step)


do_next_branch = partial(_go_to_branch, step=1)
"""Jump down to the next row at which a branch begins."""
do_previous_branch = partial(_go_to_branch, step=-1)
"""Jump up to the previous row at which a branch begins."""


def _go_beside(screen: SessionScreen, step: int) -> None:
    tree = screen.tree_pane
    shown = tree.shown
    if tree.row is None:
        return
    start = shown.branch_start(tree.row_list.cursor)
    above = shown.parent_position(start)
    beside = [at for at in tree.rows.connected if shown.parent_position(at) == above]
    if len(beside) < 2 or start not in beside:
        screen.browser.say("No other branch begins where this branch begins.", "warning")
        return
    tree.row_list.go(beside[(beside.index(start) + step) % len(beside)])


do_branch_right = partial(_go_beside, step=1)
"""Jump to the next branch that starts at the same branch point as the cursor's branch (cyclic)."""
do_branch_left = partial(_go_beside, step=-1)
"""Jump to the previous branch that starts at the same branch point as the cursor's branch (cyclic)."""


def _go_to_turn(screen: SessionScreen, step: int) -> None:
    tree = screen.tree_pane
    further = range(tree.row_list.cursor + step, len(tree.rows) if step > 0 else -1, step)
    _jump(screen, next(filter(partial(_is_turn, tree), further), None), "message", step)


do_next_turn = partial(_go_to_turn, step=1)
"""Jump to the next message of the user or the assistant."""
do_previous_turn = partial(_go_to_turn, step=-1)
"""Jump to the previous message of the user or the assistant."""


def _jump(screen: SessionScreen, position: int | None, wanted: str, step: int) -> None:
    if position is not None:
        screen.tree_pane.row_list.go(position)
    else:
        screen.browser.say(f"There is no {wanted} {'below' if step > 0 else 'above'}.")


def _is_turn(tree: TreePane, position: int) -> bool:
    session = tree.session
    assert session is not None
    kind = session.envelopes[tree.rows[position].index]
    return kind.type == "message" and kind.role in ("user", "assistant")


# -- the views beside the tree ----------------------------------------------------------------------------------------


def do_next_view(screen: SessionScreen) -> None:
    """Switch the entry pane beside the tree to its next view: Entry, Context, Diff or Raw."""
    screen.entry_pane.turn(1)


def do_previous_view(screen: SessionScreen) -> None:
    """Switch the entry pane beside the tree to its previous view: Entry, Context, Diff or Raw."""
    screen.entry_pane.turn(-1)


def do_open_marked(screen: SessionScreen) -> None:
    """Act on the highlighted part of the entry pane: unfold or fold it, open an image, or follow a link."""
    spot = screen.entry_pane.text.spot
    if isinstance(spot, EntryLink):
        screen.go_to_entry(spot.index)
        return
    if isinstance(spot, ImagePart):
        _open_image(screen, spot)
    else:
        screen.entry_pane.text.toggle_spot()


do_open_block = do_open_marked
"""Unfold or fold the highlighted part of the entry pane; works also while the tree has the focus."""


def do_open_all(screen: SessionScreen) -> None:
    """Unfold or fold all foldable parts in the entry pane."""
    screen.entry_pane.text.toggle_all()


def do_next_block(screen: SessionScreen) -> None:
    """Highlight the next foldable part, image or link in the entry pane."""
    screen.entry_pane.text.go_spot(1)


def do_previous_block(screen: SessionScreen) -> None:
    """Highlight the previous foldable part, image or link in the entry pane."""
    screen.entry_pane.text.go_spot(-1)


def do_open_image(screen: SessionScreen) -> None:
    """Open the highlighted image of the entry pane, or the first visible image, in an image viewer."""
    image = screen.entry_pane.text.shown_image()
    if image is not None:
        _open_image(screen, image)


def _open_image(screen: SessionScreen, image: ImagePart) -> None:
    browser = screen.browser
    path = screen.summary.path
    screen.lane("viewer", partial(_opened, screen)).ask(
        lambda job: show_image(image.data, path, browser.temporary_copies, browser.options.environ)
    )


def _opened(screen: SessionScreen, outcome: Outcome) -> None:
    """Show a toast that the image was opened, or the reason why it cannot be opened."""
    if outcome.error is not None:
        screen.browser.say(str(outcome.error), "warning")
    else:
        screen.browser.say(outcome.value)


def do_compare(screen: SessionScreen) -> None:
    """Compare the branch of the entry under the cursor with the active branch, or the two selected entries."""
    selected = len(screen.tree_pane.row_list.marks)
    if selected > 2:
        screen.browser.say(f"{selected:,} entries are selected; two can be compared.", "warning")
        return
    screen.entry_pane.compare()
