"""Texts of the session screen: top bar, title of the tree, message in an empty tree, progress of a search."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from textual.content import Content

from sessionbrowse.model.context.message import records_left_out
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import doubts, parse_search
from sessionbrowse.model.session.session import LabelMark, Session
from sessionbrowse.text import plural
from sessionbrowse.tui.paint.spans import CRUMB, Line, line_width, one_line, project_name
from sessionbrowse.tui.session.tree_rows import TreeRows, TreeState


def path_line(summary: Summary, session: Session | None, mark: LabelMark | None, home: str, room: int) -> Line:
    """Return the left of the top bar: project, session, label of the entry (if any), and agent if there is room."""
    name = (session.name if session is not None else summary.name) or summary.first_message or "(no messages)"
    project = project_name(summary.cwd, home)[0] if summary.cwd else "(no directory)"
    badge: Line = [(f" @{summary.machine}", "accent")] if summary.machine is not None else []
    line: Line = [(project, "dim"), *badge, *CRUMB, (one_line(name, 60), "title")]
    if mark is not None:
        line += [*CRUMB, (f"⚑ {one_line(mark.text, 24)}", "dim")]
    agent: Line = [(f"   {summary.agent}", "dim")]
    return [*line, *agent] if line_width([*line, *agent]) <= room else line


def facts_line(summary: Summary, session: Session | None, damage_key: str, *, narrow: bool = False) -> Line:
    """Return the right of the top bar: the session's numbers of problems, entries and branches.

    `damage_key` is the key that lists the problems. A `narrow` line contains only the number of problems, if any.
    """
    if session is None:
        return []
    line: Line = []
    if session.problems:
        line.append((f"✗ {plural(len(session.problems), 'problem')} ({damage_key})", "error"))
        if not narrow:
            line.append(("   ", ""))
    if narrow:
        return line
    left_out = sum(records_left_out(session).values())
    if left_out:
        line.append((f"{plural(left_out, 'record')} left out · ", "dim"))
    branches = plural(summary.branch_count, "branch", "branches")
    line.append((f"{plural(len(session.ids), 'entry', 'entries')} · {branches}", "dim"))
    return line


def tree_title(state: TreeState) -> Content:
    """Return the title on the tree's border, with the active filter and search."""
    title: list[tuple[str, str]] = [("Tree", "")]
    if state.filter != "default":
        title.append((f" · {state.filter}", "$accent"))
    if state.query and not state.whole:
        title.append((f" · /{one_line(state.query, 24)}", "$accent"))
    return Content.assemble(*title)


def no_rows_sentence(session: Session | None, state: TreeState, shown: TreeRows, key_of: Callable[[str], str]) -> str:
    """Return the message of an empty tree: the reason, and the key that shows rows again."""
    if session is not None and not session.ids:
        return "This session has no entries."
    if state.query:
        if shown.searched is not None:
            return "Searching …"
        why = " ".join([f'No entry matches "{one_line(state.query, 60)}".', *doubts(parse_search(state.query))])
        return f"{why} {key_of('back')} clears the search."
    if state.filter == "labeled-only":
        return f"No entry has a label. {key_of('filter_default')} switches to the default filter."
    return f"The tree filter hides all entries. {key_of('filter_all')} shows all."


def found_status(state: TreeState, shown: TreeRows) -> Line:
    """Return the status of the tree's search: number of matches and, while it runs, number of searched entries."""
    if not state.query or shown.session is None:
        return [(plural(len(shown.rows), "row"), "dim")]
    status: Line = [(plural(len(shown.hits), "match", "matches"), "dim")]
    if shown.some:
        status.append((" of some words, none has all", "warning"))
    if shown.searched is not None:
        return [(f"searching … {shown.searched:,}/{len(shown.session.ids):,}  ", "accent"), *status]
    return status


def hit_position(hits: list[int], cursor: int) -> str:
    """Return a text such as `hit 2/17`: the number of the hit under the cursor, and of all hits; "" without hits."""
    if not hits:
        return ""
    at = bisect_left(hits, cursor)
    is_hit = at < len(hits) and hits[at] == cursor
    return f"hit {at + 1 if is_hit else '–'}/{len(hits):,}"
