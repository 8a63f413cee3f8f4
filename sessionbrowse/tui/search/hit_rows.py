"""Hits and checkpoints as rows of spans; wide lists show more columns."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.search.hits import Checkpoint, Hit
from sessionbrowse.text import clean
from sessionbrowse.text import fit as fit_text
from sessionbrowse.tui.layout.parts import overlay, slice_line
from sessionbrowse.tui.lists.rows import ListStyle, moment
from sessionbrowse.tui.paint.spans import Line, fit, line_width, pad, right_aligned
from sessionbrowse.tui.paint.words import agent_span, folder_name, one_line
from sessionbrowse.tui.search.match_spans import apart

ROLES = {
    "bashExecution": "bash",
    "pythonExecution": "python",
    "toolResult": "tool",
    "branch_summary": "summary",
    "compaction": "summary",
}
"""Short names of roles with long names."""
ROLE_LOOKS = {"user": "user", "assistant": "assistant", "toolResult": "tool", "bashExecution": "tool", "label": "label"}
STATE_SIGNS = {"abandoned": "⌥", "compacted": "▒"}
"""Signs of entries that the model would not receive: on an abandoned branch, or before the compaction."""

_ROLE_CELLS, _NARROW_ROLE_CELLS, _STATE_CELLS, _AGE_CELLS = 10, 5, 10, 5


def hit_row(hit: Hit, summary: Summary, width: int, style: ListStyle, *, first_of_session: bool) -> Line:
    """Return the row of a hit; only the first hit of a session names the session."""
    when = moment(hit.time_ms, style) or moment(summary.modified, style)
    line: Line = [agent_span(hit.agent), right_aligned(when, "dim", _AGE_CELLS), (" ", "")]
    looks = ROLE_LOOKS.get(hit.role, "title" if hit.role == "name" else "note")
    role = clean(ROLES.get(hit.role, hit.role))
    cells = _ROLE_CELLS if width >= 66 else _NARROW_ROLE_CELLS
    line += pad([(fit_text(role, cells - 1), looks)], cells)
    line += _session_columns(summary, width, style, shown=first_of_session)
    state = state_spans(hit.state, width)
    room = width - line_width(line) - line_width(state)
    return [*line, *pad(snippet_spans(hit, room), room), *state]


def _session_columns(summary: Summary, width: int, style: ListStyle, *, shown: bool, project_from: int = 130) -> Line:
    """Return the columns that name the session; empty columns unless `shown`."""
    line: Line = []
    for least, cells, text, roles in (
        (project_from, 16, folder_name(summary.cwd, style.home)[0] if summary.cwd else "", "dim"),
        (80, 18 if width < 110 else 26, one_line(summary.title, 80), ""),
    ):
        if width >= least:
            line += pad([(fit_text(text, cells - 2) if shown else "", roles)], cells)
    return line


def snippet_spans(hit: Hit, room: int) -> Line:
    """Return the snippet with its matches marked, cut so that the first match is visible."""
    # If cleaning removed characters, the marks would be in the wrong places, so no match is marked.
    shown = clean(hit.snippet)
    marks = hit.marks if len(shown) == len(hit.snippet) else ()
    line = overlay([(shown, "title" if hit.role == "name" else "")], apart(marks), "match")
    first = marks[0] if marks else (0, 0)
    # The text after the match matters more than the text before it.
    before = first[0] - max(0, min(room // 3, room - (first[1] - first[0])))
    if before <= 0 or line_width(line) <= room:
        return line
    return [("…", "faint"), *slice_line(line, min(before + 1, first[0]), len(shown))]


def state_spans(state: str, width: int) -> Line:
    """Return the sign of an entry's state, with its name if there is room."""
    sign = STATE_SIGNS.get(state, " ")
    if width < 100:
        return [(f" {sign}", "branch")]
    word = state if sign != " " else ""
    return [(f"  {sign} {word:<{_STATE_CELLS}}", "branch")]


def checkpoint_row(mark: Checkpoint, summary: Summary, width: int, style: ListStyle) -> Line:
    """Return the row of a checkpoint: time, label, session, entry."""
    line: Line = [agent_span(mark.agent), right_aligned(moment(mark.time_ms, style), "dim", _AGE_CELLS), (" ", "")]
    cells = max(14, min(34, width // 4))
    line += pad(fit([(f"⚑ {one_line(mark.label, 200)}", "label strong")], cells - 1), cells)
    line += _session_columns(summary, width, style, shown=True, project_from=90)
    state = state_spans(mark.state, width)
    room = width - line_width(line) - line_width(state)
    return [*line, *pad([(one_line(mark.preview, 300), "dim")], room), *state]


def place_line(summary: Summary, role: str, state: str, style: ListStyle) -> Line:
    """Return the line that names agent, session, folder and role of a hit, which narrow rows leave out."""
    line: Line = [agent_span(summary.agent), (f" {one_line(summary.title, 120)}", "title")]
    if summary.cwd:
        line.append((f" · {folder_name(summary.cwd, style.home)[0]}", "dim"))
    line.append((f" · {clean(role)}", "dim"))
    if state in STATE_SIGNS:
        line.append((f" · {STATE_SIGNS[state]} {state}", "branch"))
    return line
