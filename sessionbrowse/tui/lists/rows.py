"""Rows and titles of the lists as styled text, the top bar, the progress of a scan, the message of an empty list.

`clean` removes control characters from the text of session files, which is never parsed as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from textual.content import Content

from sessionbrowse import text
from sessionbrowse.config import ROW_FIELDS, DateStyle, RowField
from sessionbrowse.model.listing.directories import machine_in, missing_word
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.data.library import ProjectRow, SessionRow
from sessionbrowse.tui.data.list_state import ListState
from sessionbrowse.tui.paint.spans import (
    CRUMB,
    STATUS_SIGNS,
    Line,
    agent_span,
    cut_left,
    fit,
    line_width,
    one_line,
    pad,
    project_name,
    right_aligned,
    sides,
)

if TYPE_CHECKING:
    from sessionbrowse.store.own.mirrors import MirrorState
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.data.library import SessionRow
    from sessionbrowse.tui.data.options import BrowseOptions, Caller


_DATE_CELLS: dict[str, int] = {"age": 5, "date": 13, "iso": 21}

RECENT_MS = 300_000
"""If a session changed less than this many milliseconds ago, an agent may still be working in it."""

RECENT_THERE_MS = 600_000


class ListStyle(Struct, frozen=True, kw_only=True):
    """The display options of the session list."""

    now_ms: float
    home: str
    show_path: bool = False
    show_project: bool = False
    dates: DateStyle = "age"
    in_use: frozenset[str] = frozenset()
    sort: str = "newest"
    project_cells: int = 18
    fields: Collection[RowField] = ROW_FIELDS
    caller: Caller | None = None
    machines: Mapping[str, MirrorState] = {}


def directory_state(directories: Sequence[str], exists: Mapping[str, bool | None], moved: Mapping[str, str]) -> str:
    """Return "" if one of a project's directories exists; else "moved" if one of them was moved, else the reason."""
    if not directories or any(exists.get(directory) is not False for directory in directories):
        return ""
    return "moved" if any(directory in moved for directory in directories) else missing_word(directories[0])


def project_row(row: ProjectRow, width: int, home: str, state: str = "", *, ambiguous: bool = False) -> Line:
    """Return the row of a project: name, parent directory if there is room, number of sessions."""
    count: Line = [(f"{row.sessions:,}", "dim")]
    if row.cwd is None:
        return sides([("All projects", "title")], count, width)
    if not row.cwd:
        return sides([("(no directory)", "dim")], count, width)
    there = machine_in(row.cwd)
    name, above = project_name(there[1] if there is not None else row.cwd, home)
    left: Line = [(name, "title" if row.is_here else "dim" if state else "")]
    if there is not None:
        left.append((f" @{there[0]}", "accent"))
    if len(row.directories) > 1:
        left.append((f" ⑂{len(row.directories)}", "branch"))
    if row.is_here:
        left.append((" ← here", "accent"))
    right: Line = [(f"{state} ", "faint"), *count] if state else count
    if above and above != "~" and (ambiguous or width >= 30):
        left.append((f"  {above}", "faint"))
    return sides(left, right, width, least=4)


def session_title(summary: Summary) -> Line:
    """Return a session's name, or its first message if it has no name; `✗` precedes the title of a damaged file."""
    line: Line = []
    if summary.problem is not None:
        line.append(("✗ ", "error"))
    if summary.name and summary.name.strip():
        line.append((one_line(summary.name), "title"))
    elif summary.first_message and summary.first_message.strip():
        line.append((one_line(summary.first_message), ""))
    elif summary.problem is not None:
        line.append((one_line(summary.problem), "error"))
    else:
        line.append(("(no messages)", "dim italic"))
    return line


def session_badges(summary: Summary) -> Line:
    """Return the symbols after a session's title: fork, branches, labels, damage, newest message on another branch."""
    badges: Line = [(f" @{summary.machine}", "accent")] if summary.machine is not None else []
    if summary.copy_of is not None:
        badges.append((" conflict copy", "warning"))
    if summary.parent_session is not None:
        badges.append((" ↳", "branch"))
    if summary.branch_count > 1:
        badges.append((f" ⌥{summary.branch_count}", "branch"))
    if summary.label_count:
        badges.append((f" ⚑{summary.label_count}", "label"))
    if summary.problem_count and summary.problem is None:
        # Show `✗` without a number: `problem_count` is complete only after the whole session has been read.
        badges.append((" ✗", "error"))
    if summary.left_behind:
        badges.append((" ↯", "warning"))
    if summary.hidden:
        badges.append((" hidden", "faint"))
    return badges


def session_row(row: SessionRow, width: int, style: ListStyle) -> Line:
    """Return the row of a session: title and symbols at the left, as many columns at the right as fit."""
    summary = row.summary
    right = session_path(summary, width, style) if style.show_path else session_facts(summary, width, style)
    prefix: Line = [(row.prefix, "faint")] if row.prefix else []
    if row.pinned:
        prefix.append(("★ ", "accent"))
    badges = session_badges(summary)
    if row.found is not None and summary.archived:
        badges.append((" archived", "faint"))
    if row.found is not None and row.found.missing:
        badges.append((f"  without {one_line(' '.join(row.found.missing), 30)}", "warning"))
    if style.caller is not None and style.caller.has_open(summary.path):
        badges.insert(0, (" ← this one", "accent"))
    if row.family:
        badges.append((f" {'⊟' if row.is_open else '⊞'}{row.family}", "branch"))
    room = width - line_width(right) - line_width(prefix) - line_width(badges) - 1
    if room < 8:
        badges, room = [], width - line_width(right) - line_width(prefix) - 1
    title = session_title(summary)
    if row.found is not None:
        from sessionbrowse.tui.search.found_rows import name_hit, snippet_spans

        named = name_hit(row.found)
        title = snippet_spans(named, max(0, room)) if named is not None else title
    left: Line = [*prefix, *fit(title, max(0, room)), *badges]
    return sides(left, right, width, least=0)


def life_sign(summary: Summary, style: ListStyle) -> tuple[str, str]:
    """Return a session's symbol: ● if open in a program, ○ if changed in the last minutes, else the status symbol.

    The status says how the session ended, such as "interrupted" or "error".
    """
    if summary.path in style.in_use:
        return ("●", "good")
    if is_recent(summary, style.now_ms, style.machines):
        return ("○", "good")
    return STATUS_SIGNS.get(summary.status or "", (" ", ""))


def is_recent(summary: Summary, now_ms: float, machines: Mapping[str, MirrorState]) -> bool:
    """Return True if a session changed recently; for another machine, shortly before the last look, by its clock."""
    if summary.machine is None:
        return 0 <= now_ms - summary.mtime_ns / 1_000_000 < RECENT_MS
    state = machines.get(summary.machine)
    return state is not None and state.is_recent(summary.mtime_ns / 1_000_000, RECENT_THERE_MS)


_DROPPED: tuple[RowField, ...] = (
    *("model", "branches", "size", "tokens"),
    *("project", "agent", "messages", "cost", "modified"),
)
"""The columns in the order in which a narrow list leaves them out."""
_LEAST_TITLE, _TITLE_SHARE = 24, 0.45

_BESIDE_PATH: tuple[RowField, ...] = ("agent", "modified", "messages")

_SORTED_BY: dict[str, RowField] = {"size": "size", "cost": "cost"}
"""Maps a sort order to the column with the sorted value, which a narrow row shows in place of the message count."""


def columns(width: int, style: ListStyle) -> list[tuple[RowField, int]]:
    """Return the columns at the right of a session's row that fit a width, each with its width in cells.

    The column by which the list is sorted is left out last.
    """
    sorted_by = _SORTED_BY.get(style.sort)
    fields = [field for field in style.fields if field != "project" or style.show_project]
    if sorted_by is not None and sorted_by not in fields:
        fields.append(sorted_by)
    cells = {
        **{field: column.cells for field, column in _COLUMNS.items()},
        "modified": _DATE_CELLS[style.dates] - 1,
        "project": min(style.project_cells, max(8, width // 5)),
    }
    room = width - max(_LEAST_TITLE, int(width * _TITLE_SHARE))
    for dropped in (*[field for field in _DROPPED if field != sorted_by], sorted_by):
        if sum([cells[field] + 1 for field in fields]) <= room:
            break
        fields = [field for field in fields if field != dropped]
    return [(field, cells[field]) for field in fields]


def session_facts(summary: Summary, width: int, style: ListStyle) -> Line:
    """Return the columns at the right of a session's row (agent, age, cost, …), as many as fit the row's width."""
    sorted_by = _SORTED_BY.get(style.sort)
    facts: Line = []
    for field, cells in columns(width, style):
        # A blank before each column keeps them apart, whatever a value's width.
        facts.append((" ", ""))
        if field == "agent":
            facts += [agent_span(summary.agent), life_sign(summary, style)]
            continue
        column = _COLUMNS[field]
        shown, role = column.shown(summary, style), "" if field == sorted_by else column.role
        facts.append((text.fit(shown, cells), role) if column.is_text else right_aligned(shown, role, cells))
    return facts


def heading(width: int, style: ListStyle) -> str:
    """Return the names of the columns of a list, as wide as the columns."""
    shown = [(_COLUMNS[field], cells) for field, cells in columns(width, style)]
    return "".join([f" {column.heading:{'<' if column.is_text else '>'}{cells}}" for column, cells in shown])


class _Column(Struct, frozen=True):
    """A column of the session list: its width, its name, its value.

    Texts are cut at the width, and aligned left. Other values that are longer push the rest of their row to the right.
    The columns of age and project have other widths: see `columns`.
    """

    cells: int
    heading: str
    shown: Callable[[Summary, ListStyle], str]
    role: str = "dim"
    is_text: bool = False


def _count(count: int) -> str:
    return f"{count / 1000:.0f}k" if 9_950 <= count < 999_500 else text.tokens(count)


def _project(summary: Summary, style: ListStyle) -> str:
    return project_name(summary.cwd, style.home)[0] if summary.cwd else ""


_COLUMNS: dict[RowField, _Column] = {
    "agent": _Column(2, "", lambda summary, _: summary.agent),
    "project": _Column(0, "project", _project, is_text=True),
    "modified": _Column(0, "age", lambda summary, style: moment(summary.modified, style)),
    "messages": _Column(4, "msgs", lambda summary, _: _count(summary.message_count)),
    "cost": _Column(7, "cost", lambda summary, _: text.cost(summary.cost) if summary.cost else ""),
    "tokens": _Column(7, "tokens", lambda summary, _: text.tokens(summary.tokens) if summary.tokens else ""),
    "size": _Column(8, "size", lambda summary, _: text.size(summary.bytes)),
    "branches": _Column(4, "⌥", lambda summary, _: f"⌥{summary.branch_count}" if summary.branch_count > 1 else ""),
    "model": _Column(20, "model", lambda summary, _: clean(summary.model or "").rpartition("/")[2], "faint", True),
}


def moment(time_ms: float | None, style: ListStyle) -> str:
    """Return a time in the style of the settings: age, local date, or ISO 8601."""
    if time_ms is None or not text.is_time(time_ms):
        return ""
    match style.dates:
        case "age":
            return text.age(time_ms, style.now_ms)
        case "iso":
            return text.iso_ms(time_ms)[:19] + "Z"
        case "date":
            then, now = text.local_time(time_ms), text.local_time(style.now_ms)
            if then is None or now is None:
                return ""
            return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d  %Y}"


def session_path(summary: Summary, width: int, style: ListStyle) -> Line:
    """Return the path of a session's file, cut at the right if too long, then agent, time and number of messages."""
    path = clean(text.shorten_home(summary.path, style.home))
    beside = replace(style, fields=_BESIDE_PATH, show_project=False, sort="newest")
    facts = session_facts(summary, width, beside)
    return [*pad([(path, "dim")], max(10, width // 2)), ("  ", ""), *facts]


def progress_bar(done: int, total: int | None, rate: float | None = None, verb: str = "reading") -> Line:
    """Return a small progress bar; `verb` names the work, `rate` is the number of sessions handled per second."""
    if not total:
        return [(f"{verb} {done:,}", "accent")]
    cells = 8
    full = min(cells, done * cells // total)
    return [
        (f"{verb} ", "dim"),
        ("▰" * full, "accent"),
        ("▱" * (cells - full), "faint"),
        (f" {done:,}/{total:,}", "dim"),
        (f" · {rate:,.0f}/s" if rate else "", "dim"),
    ]


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
    """Return the session list's title; `selected` are the numbers of selected sessions in the list and outside it."""
    shown, hidden = selected
    title: list[tuple[str, str]] = []
    if shown or hidden:
        # A narrow pane cuts off the end of its title, so the number of selected sessions comes first.
        not_shown = f", {hidden:,} not shown" if hidden else ""
        title.append((f"✓ {shown:,} selected{not_shown} · ", "$accent"))
    named = state.shown_project
    project = project_title(named, home) if named is not None else "All projects"
    title.append(("Sessions", ""))
    # A narrow pane cuts off the end of its title, so the sort order comes before texts that may be long.
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
        return f"No session is archived. {key_of('back')} shows the others."
    if state.project is not None:
        return f"No sessions in this project. {key_of('scope')} shows all projects."
    return f"No sessions yet. {key_of('reload')} scans the disk again."
