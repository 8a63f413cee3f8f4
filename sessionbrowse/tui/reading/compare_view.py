"""The document that compares two branches of a session: in two columns, or one below the other in a narrow pane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice, zip_longest

from msgspec.structs import replace

from sessionbrowse import text
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows
from sessionbrowse.services.inspect.compare import ComparedBranch, Comparison, changed_words, cost_words
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.layout.parts import SHOWN_FIRST, LazyPart, LinePart, Part, warm
from sessionbrowse.tui.paint.spans import Line, one_line, pad
from sessionbrowse.tui.reading.documents import PREVIEW_DETAIL, find_result, is_talk, rule, talk_parts

NARROWEST_PAIR = 70
"""Minimum width of the pane, in cells, at which two branches are compared in two columns."""

BETWEEN = (" │ ", "rule")
MOST_FILES = 6


class PairPart:
    """A document part that shows two other parts side by side: one from each of the two compared branches."""

    def __init__(self, left: Part | None, right: Part | None) -> None:
        self._left = left
        self._right = right

    def estimate(self, width: int) -> int:
        """Return the estimated height in rows of the taller of the two parts."""
        half = _half(width)
        return max([part.estimate(half) for part in self.halves()], default=0)

    def rows(self, width: int) -> list[Line]:
        """Return the rows of both parts, side by side in two columns."""
        half = _half(width)
        left = self._left.rows(half) if self._left is not None else []
        right = self._right.rows(half) if self._right is not None else []
        none: Line = []
        return [[*pad(one, half), BETWEEN, *other] for one, other in zip_longest(left, right, fillvalue=none)]

    def halves(self) -> list[Part]:
        """Return the left and the right part, or only one of them if the other is None."""
        return [part for part in (self._left, self._right) if part is not None]

    def plain(self) -> str:
        """Return the text of the left part, then the text of the right part."""
        return "\n".join([part.plain() for part in self.halves()])


def _half(width: int) -> int:
    return max(1, (width - len(BETWEEN[0])) // 2)


def compare_parts(
    session: Session, comparison: Comparison, home: str, width: int, keys: tuple[str, str] = ("space", "d")
) -> list[Part]:
    """Return the document of a comparison of two branches, for a pane of `width` cells.

    `keys` are two keys for a hint to the user: the first selects an entry, the second compares.
    """
    left, right = comparison.left, comparison.right
    parts: list[Part] = [_common_part(session, comparison, home)]
    if not left.entries or not right.entries:
        ahead = right if right.entries else left
        behind = left if ahead is right else right
        if not ahead.entries:
            hint = f"To compare two entries, select them with {keys[0]}, then press {keys[1]}."
            return [*parts, LinePart([(f"This entry is on the active branch. {hint}", "dim italic")])]
        sentence = (
            f"{_name(session, behind.index)} is an ancestor of {_name(session, ahead.index)}. "
            f"To compare branches, go to a row of the other, or select two entries with {keys[0]}."
        )
        parts += [LinePart([(sentence, "dim italic")]), LinePart([])]
        return [*parts, *_side_head(session, ahead, "▶", home), LinePart([]), *_talk(session, ahead)]
    heads = _side_head(session, left, "◀", home), _side_head(session, right, "▶", home)
    if width < NARROWEST_PAIR:
        for side, head in ((left, heads[0]), (right, heads[1])):
            parts += [rule(), *head, LinePart([]), *_talk(session, side)]
        warm(parts)
        return parts
    parts.append(rule())
    parts += [PairPart(one, other) for one, other in zip_longest(*heads)]
    parts.append(rule())
    for one_turn, other_turn in zip_longest(_turns(session, left), _turns(session, right), fillvalue=()):
        pairs = zip_longest(one_turn, other_turn)
        talks = [[None if index is None else _talk_part(session, index) for index in pair] for pair in pairs]
        parts += [PairPart(*talk) for talk in talks]
    warm([half for part in parts[: 2 * SHOWN_FIRST] if isinstance(part, PairPart) for half in part.halves()])
    return parts


def _common_part(session: Session, comparison: Comparison, home: str) -> Part:
    if comparison.ancestor is None:
        return LinePart([("No shared entries: the two branches have different root entries.", "dim")])
    said = one_line(rows.row_text(session, comparison.ancestor, home), 120)
    return LinePart(
        [
            (plural(comparison.shared, "shared entry", "shared entries"), ""),
            (", up to ", "dim"),
            (_name(session, comparison.ancestor), "accent"),
            (f"  {said}", "dim"),
        ],
        indent=2,
    )


def _name(session: Session, index: int) -> str:
    """Return the name of an entry: its label, or the beginning of its id."""
    mark = session.labels.get(index)
    return f"⚑ {one_line(mark.text, 40)}" if mark is not None else clean(session.ids[index] or "(no id)")[:8]


def _first_prompt(session: Session, side: ComparedBranch, home: str) -> str:
    """Return the start of a branch's first user message; if there is no user message, of the branch's first entry."""
    asked = next((index for index in side.entries if session.envelopes[index].role == "user"), side.entries[0])
    return one_line(rows.row_text(session, asked, home), 80).removeprefix("user: ")


def _side_head(session: Session, side: ComparedBranch, sign: str, home: str) -> list[Part]:
    """Return the facts about a branch, one per line: first prompt, message count, cost, tools, files, last answer."""
    facts = [plural(side.messages, "message"), plural(len(side.entries), "entry", "entries")]
    facts += [text.duration(side.span_ms / 1000)] if side.span_ms else []
    errors: Line = [(f"  {plural(side.failed, 'error')}", "error")] if side.failed else []
    money = [f"{text.tokens(side.tokens)} tokens"] if side.tokens else []
    money += [cost_words(side.cost, side.branch_cost, side.abandoned)] if side.branch_cost else []
    tools = ", ".join([f"{clean(name)} {count}" for name, count in list(side.tools.items())[:8]])
    files = ", ".join(
        [
            changed_words(clean(path).rsplit("/", 1)[-1], lines.added, lines.removed)
            for path, lines in islice(side.files.items(), MOST_FILES)
        ]
    )
    more = f" and {len(side.files) - MOST_FILES} more" if len(side.files) > MOST_FILES else ""
    mark: Line = [(f"{_name(session, side.index)}  ", "label")] if side.index in session.labels else []
    leaf: Line = [(" ←\u00a0leaf", "accent")] if side.index == session.leaf else []
    return [
        LinePart([(f"{sign} ", "accent"), *mark, (_first_prompt(session, side, home), "title"), *leaf], indent=2),
        LinePart([(" · ".join(facts), "")]),
        LinePart([(" · ".join(money) or "no cost recorded", "dim")]),
        LinePart([("tools ", "dim"), (tools or "none", ""), *errors], indent=6),
        LinePart([("files ", "dim"), ((files + more) or "none changed", "")], indent=6),
        LinePart([("ended ", "dim"), *_outcome(session, side, home)], indent=6),
    ]


def _outcome(session: Session, side: ComparedBranch, home: str) -> Line:
    """Return the start of the last answer on a branch; the reason why an unfinished answer ended comes first."""
    if side.answer is None:
        return [("without an answer", "warning")]
    reason = session.envelopes[side.answer].stop_reason
    why: Line = [(f"{clean(reason)}: ", "warning")] if reason not in (None, "stop", "toolUse") else []
    said = one_line(rows.row_text(session, side.answer, home), 120).removeprefix("assistant: ")
    return [*why, (said or "without a text", "" if said else "dim")]


def _talk(session: Session, side: ComparedBranch) -> list[Part]:
    shown = [index for index in side.entries if is_talk(session, index)]
    if not shown:
        return [LinePart([("No messages on this branch.", "dim italic")])]
    return [_talk_part(session, index) for index in shown]


def _turns(session: Session, side: ComparedBranch) -> list[Sequence[int]]:
    """Group the messages of a branch into turns, which begin with a user message; columns are aligned by turns.

    The first group contains the messages before the first user message, such as a branch summary.
    """
    turns: list[list[int]] = [[]]
    for index in side.entries:
        if not is_talk(session, index):
            continue
        if session.envelopes[index].role == "user":
            turns.append([])
        turns[-1].append(index)
    return [tuple(turn) for turn in turns]


def _talk_part(session: Session, index: int) -> Part:
    detail = replace(PREVIEW_DETAIL, output_lines=5, results=partial(find_result, session, index))
    return LazyPart(lambda: talk_parts(session, index, detail), about=6)
