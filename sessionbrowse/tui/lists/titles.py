"""Texts of the browser's first screen: the top bar, the titles of the lists, and the message of an empty list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.content import Content

from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.data.list_state import ListState
from sessionbrowse.tui.lists.rows import progress_bar
from sessionbrowse.tui.paint.spans import CRUMB, Line, cut_left, line_width, one_line, project_name

if TYPE_CHECKING:
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.data.library import SessionRow
    from sessionbrowse.tui.data.options import BrowseOptions

LEAST_PLACE = 18
"""Minimum width in cells of the path in the top bar."""


class ScanProgress(Struct, frozen=True):
    """The progress of a scan; the speed is measured from the time `began_ms`, when `began_done` sessions were done."""

    verb: str
    done: int
    total: int
    began_ms: float
    began_done: int
    now_ms: float = 0

    def shown(self) -> Line:
        """Return the scan's progress as a bar with the number of sessions per second."""
        seconds = (self.now_ms - self.began_ms) / 1000
        rate = (self.done - self.began_done) / seconds if seconds > 0.2 else None
        return progress_bar(self.done, self.total, rate, self.verb)


def advanced(before: ScanProgress | None, verb: str, done: int, total: int, now_ms: float) -> ScanProgress | None:
    """Return the progress of a scan with `done` of `total` sessions; None when all are done.

    `before` is the progress shown last. The speed is still measured from its beginning, unless `verb` has changed or
    `done` is smaller than before.
    """
    if done >= total:
        return None
    if before is None or before.verb != verb or done < before.done:
        return ScanProgress(verb, done, total, now_ms, done)
    return ScanProgress(verb, done, total, before.began_ms, before.began_done, now_ms)


def project_title(project: str, home: str) -> str:
    """Return a project's name, or a placeholder for sessions without a directory."""
    return project_name(project, home)[0] if project else "(no directory)"


def sessions_title(state: ListState, home: str, selected: tuple[int, int], *, names_project: bool = True) -> Content:
    """Return the session list's title; `selected` counts the selected sessions that have a row, and those without."""
    shown, hidden = selected
    title: list[tuple[str, str]] = []
    if shown or hidden:
        # The number of selected sessions comes first, because a narrow pane cuts its title at the right.
        not_shown = f", {hidden:,} not shown" if hidden else ""
        title.append((f"✓ {shown:,} selected{not_shown} · ", "$accent"))
    named = state.shown_project
    project = project_title(named, home) if named is not None else "All projects"
    title.append(("Sessions", ""))
    # The sort order comes before texts that may be long, because a narrow pane cuts its title at the right.
    title.append((f" · {state.effective_sort}", "$sb-dim"))
    if names_project or named is None:
        title.append((f" · {project if names_project else 'all'}", ""))
    if state.searched:
        title.append((f' · "{one_line(state.searched, 30)}"', "$accent"))
    if state.named:
        title.append((" · named only", "$accent"))
    if state.archived:
        title.append((" · archived", "$accent"))
    return Content.assemble(*title)


def count_selected(rows: Iterable[SessionRow], marks: Collection[Hashable]) -> tuple[int, int]:
    """Return two numbers of selected sessions: those that have a row in the list, and those that have none."""
    shown = sum([row.summary.path in marks for row in rows]) if marks else 0
    return shown, len(marks) - shown


def path_line(project: str | None, home: str) -> Line:
    """Return the path in the top bar, which names the chosen project."""
    line: Line = [("sessionbrowse", "title")]
    return line if project is None else [*line, *CRUMB, (project_title(project, home), "dim")]


def scope_note(options: BrowseOptions, keys: Keys, home: str) -> Line:
    """Return the note in the top bar: the given agents and roots, and in `sessionbrowse pick` the key that chooses."""
    note: Line = []
    if options.pick is not None:
        wanted = "an entry" if options.pick.needs_entry else "a session"
        note.append((f"  {keys.key_of('open')} chooses {wanted}", "accent"))
    if options.agents:
        note.append((f"  {' '.join(options.agents)} only", "accent"))
    if options.roots:
        one = cut_left(clean(shorten_home(options.roots[0], home)), 32)
        note.append((f"  in {one}" if len(options.roots) == 1 else f"  in {len(options.roots)} places", "dim"))
    return note


def facts_line(sessions: int, projects: int, under_way: ScanProgress | None, failure: str | None, width: int) -> Line:
    """Return the numbers of sessions and projects and the scan's progress, shortened to the width of the bar."""
    counts: Line = [(f"{plural(sessions, 'session')} · {plural(projects, 'project')}", "dim")]
    failed: Line = [(f"{failure}   ", "error")] if failure is not None else []
    if under_way is None:
        return [*failed, *counts]
    gap: Line = [("   ", "")]
    ways = (
        [*under_way.shown(), *gap, *counts],
        [*under_way.shown(), *gap, (plural(sessions, "session"), "dim")],
        under_way.shown(),
        [(f"{under_way.verb} {under_way.done * 100 // under_way.total}%", "accent")],
    )
    room = width - line_width(failed) - LEAST_PLACE
    return [*failed, *next((way for way in ways if line_width(way) <= room), ways[-1])]


def no_sessions_sentence(state: ListState, key_of: Callable[[str], str]) -> str:
    """Return the message of an empty session list without a search: the reason, and the key that shows sessions."""
    # While sessions are still being loaded, do not report "no session": a matching session may follow.
    if state.scanning and (state.library.uses_first_rows or not state.named):
        return "Reading sessions …"
    if state.named:
        return f"No sessions with a name in this list. {key_of('named')} shows all sessions."
    if state.archived:
        key = key_of("archived") or f'"Archived" in {key_of("palette")}'
        return f"No session is archived. {key} shows the others."
    if state.project is not None:
        return f"No sessions in this project. {key_of('scope')} shows all projects."
    return f"No sessions yet. {key_of('reload')} scans the disk again."
