"""Make the rows of search results and of checkpoints as spans (pieces of styled text)."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.search.hits import Checkpoint, Hit
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.services.search.ranking import READ_OF_ONE
from sessionbrowse.text import clean, plural
from sessionbrowse.text import fit as fit_text
from sessionbrowse.tui.layout.parts import overlay, slice_line
from sessionbrowse.tui.lists.rows import ListStyle, moment, session_title
from sessionbrowse.tui.paint.spans import Line, fit, line_width, pad, right_aligned, sides
from sessionbrowse.tui.paint.words import agent_span, folder_name, one_line
from sessionbrowse.tui.search.result_rows import ResultRow, name_hit
from sessionbrowse.tui.shell.match_spans import apart

ROLES = {
    "bashExecution": "bash",
    "pythonExecution": "python",
    "toolCall": "call",
    "toolResult": "tool",
    "branch_summary": "summary",
    "compaction": "summary",
}
"""Short names of roles (kinds of entries), for roles whose own name is too long for a row."""
ROLE_LOOKS = {
    "user": "user",
    "assistant": "assistant",
    "toolCall": "tool",
    "toolResult": "tool",
    "bashExecution": "tool",
    "label": "label",
}
STATE_SIGNS = {"abandoned": "⌥", "compacted": "▒"}
"""Symbols for the state of entries that the model does not receive: on an abandoned branch, or compacted."""

_ROLE_CELLS, _NARROW_ROLE_CELLS, _STATE_CELLS, _AGE_CELLS = 10, 5, 10, 5
MOST_KNOWN = READ_OF_ONE
"""A search first reads at most this many matching entries from a session; the session may have more."""


def result_row(row: ResultRow, summary: Summary, width: int, style: ListStyle, more_key: str) -> Line:
    """Return a row of the search results: a session's title, a matching entry, or "… more hits"."""
    if row.hit is not None:
        return hit_row(row.hit, width)
    if row.is_more:
        more = row.session.more
        many = f"{more:,}" if len(row.session.hits) + more < MOST_KNOWN else f"{more:,} or"
        return fit([(f"     {many} more {'hit' if many == '1' else 'hits'}", "dim"), (f"  {more_key}", "faint")], width)
    return head_row(row.session, summary, width, style)


def head_row(session: RankedSession, summary: Summary, width: int, style: ListStyle) -> Line:
    """Return a found session's title row: agent, age, title; at the right, folder and number of matching entries."""
    total = len(session.hits) + session.more
    left: Line = [agent_span(summary.agent), right_aligned(moment(summary.modified, style), "dim", _AGE_CELLS)]
    left.append((" ", ""))
    right: Line = []
    if session.missing and width >= 50:
        right.append((f"without {one_line(' '.join(session.missing), 30)}  ", "warning"))
    if summary.cwd and width >= (90 if session.missing else 50):
        right.append((fit_text(folder_name(summary.cwd, style.home)[0], 16 if width < 100 else 24) + "  ", "dim"))
    count = f"{total}+ hits" if total >= MOST_KNOWN else plural(total, "hit")
    right.append((f"{count:>8}", "dim"))
    room = max(0, width - line_width(right) - line_width(left) - 1)
    named = name_hit(session)
    title = snippet_spans(named, room) if named is not None else session_title(summary)
    return sides([*left, *fit(title, room)], right, width, least=0)


def hit_row(hit: Hit, width: int) -> Line:
    """Return the row of a matching entry: role, text around the matches, number of the entry's copies, state."""
    looks = ROLE_LOOKS.get(hit.role, "title" if hit.role == "name" else "note")
    role = clean(ROLES.get(hit.role, hit.role))
    cells = _ROLE_CELLS if width >= 66 else _NARROW_ROLE_CELLS
    line: Line = [("   ", ""), *pad([(fit_text(role, cells - 1), looks)], cells)]
    signs: Line = []
    if hit.copies:
        copies = f"  also in {plural(hit.copies, 'copy', 'copies')}" if width >= 76 else f" ⧉{hit.copies}"
        signs.append((copies, "dim"))
    signs += state_spans(hit.state, width) if hit.state in STATE_SIGNS else []
    room = width - line_width(line) - line_width(signs)
    return [*line, *pad(snippet_spans(hit, room), room), *signs]


def snippet_spans(hit: Hit, room: int) -> Line:
    """Return a matching entry's text with highlighted matches, cut to `room` cells so that most matches are visible."""
    # Removed control characters shift the matches' positions in the text, so no match is highlighted then.
    shown = clean(hit.snippet)
    marks = hit.marks if len(shown) == len(hit.snippet) else ()
    line = overlay([(shown, "title" if hit.role == "name" else "")], apart(marks), "match")
    if line_width(line) <= room or not marks:
        return line
    first, last = max(
        [(begin, max(end for _, end in marks if end <= begin + room)) for begin, end in marks if end <= begin + room],
        key=lambda part: sum(part[0] <= begin and end <= part[1] for begin, end in marks),
        default=(marks[0][0], marks[0][0]),
    )
    begin = first - max(0, (room - (last - first)) // 2)
    if begin <= 0:
        return line
    # If the matches are near the end of the text, cut less at the left, so that the rest fills all `room` cells.
    begin = min(begin, max(0, len(shown) - room + 1))
    return [("…", "faint"), *slice_line(line, min(begin + 1, first), len(shown))]


def state_spans(state: str, width: int) -> Line:
    """Return the symbol of an entry's state (abandoned, compacted); a wide row adds the name of the state."""
    sign = STATE_SIGNS.get(state, " ")
    if width < 100:
        return [(f" {sign}", "branch")]
    word = state if sign != " " else ""
    return [(f"  {sign} {word:<{_STATE_CELLS}}", "branch")]


def checkpoint_row(mark: Checkpoint, summary: Summary, width: int, style: ListStyle) -> Line:
    """Return the row of a checkpoint: agent, time, label, folder, session, text of the entry."""
    line: Line = [agent_span(mark.agent), right_aligned(moment(mark.time_ms, style), "dim", _AGE_CELLS), (" ", "")]
    cells = max(14, min(34, width // 4))
    line += pad(fit([(f"⚑ {one_line(mark.label, 200)}", "label strong")], cells - 1), cells)
    for least, columns, text in (
        (90, 16, folder_name(summary.cwd, style.home)[0] if summary.cwd else ""),
        (80, 18 if width < 110 else 26, one_line(summary.title, 80)),
    ):
        if width >= least:
            line += pad([(fit_text(text, columns - 2), "dim" if least == 90 else "")], columns)
    state = state_spans(mark.state, width)
    room = width - line_width(line) - line_width(state)
    return [*line, *pad([(one_line(mark.preview, 300), "dim")], room), *state]


def place_line(summary: Summary, role: str, state: str, style: ListStyle) -> Line:
    """Return the line below a list of entries: agent, session, folder, role and state, which narrow rows omit."""
    line: Line = [agent_span(summary.agent), (f" {one_line(summary.title, 120)}", "title")]
    if summary.cwd:
        line.append((f" · {folder_name(summary.cwd, style.home)[0]}", "dim"))
    line.append((f" · {clean(ROLES.get(role, role))}", "dim"))
    if state in STATE_SIGNS:
        line.append((f" · {STATE_SIGNS[state]} {state}", "branch"))
    return line
