"""Group related sessions into families, which a list can fold: forks, copies, subagent sessions, stubs.

A stub has at most one message. A folded list shows one row for each family. The row shows the family's first session
that is no subagent session, no stub and no conflict copy; the family's other sessions are folded under this row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sessionbrowse.model.listing.summary import Summary

STUB_MESSAGES = 1
"""Maximum number of messages in a stub; `is_stub` checks this and other conditions."""


def is_stub(summary: Summary) -> bool:
    """Return True if a session is a stub: at most one message, no name, no label, neither a fork nor damaged."""
    return (
        summary.message_count <= STUB_MESSAGES
        and not summary.name
        and not summary.label_count
        and summary.parent_session is None
        and summary.problem is None
    )


def families(summaries: Sequence[Summary]) -> dict[str, int]:
    """Map the path of each session that has relatives to the number of its family.

    One family contains a fork and its parent, forks of the same missing parent, a subagent session and the session that
    started it, files with the same header, and the stubs of one directory.
    """
    number_of_path = {summary.path: number for number, summary in enumerate(summaries)}
    above = list(range(len(summaries)))
    first_of: dict[tuple[object, ...], int] = {}

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    def join(number: int, key: tuple[object, ...]) -> None:
        other = first_of.setdefault(key, number)
        if other != number:
            above[top(number)] = top(other)

    for number, summary in enumerate(summaries):
        parent_path = summary.parent_path
        parent = number_of_path.get(parent_path) if parent_path is not None else None
        if parent is not None:
            above[top(number)] = top(parent)
        elif summary.parent_session is not None:
            join(number, ("fork", summary.agent, summary.parent_session))
        elif is_stub(summary):
            join(number, ("stubs", summary.cwd))
        if summary.id is not None and summary.created is not None:
            # Different sessions may have the same id; only copies also have the same creation time.
            join(number, (summary.id, summary.created))
    tops = [top(number) for number in range(len(summaries))]
    members: dict[int, int] = {}
    for number in tops:
        members[number] = members.get(number, 0) + 1
    return {summary.path: number for summary, number in zip(summaries, tops, strict=True) if members[number] > 1}


def folded(ordered: Sequence[Summary], family_of: Mapping[str, int]) -> list[tuple[Summary, Sequence[Summary]]]:
    """Return the sessions to show in a folded list, each with the other members of its family, in the given order.

    Each family is shown by its first member that is no subagent session, no stub and no conflict copy of another
    file, else by its first member.
    """
    alone: Sequence[Summary] = ()
    members: dict[int, list[Summary]] = {}
    heads: dict[int, Summary] = {}
    family_at = family_of.get
    for summary in ordered:
        family = family_at(summary.path)
        if family is not None:
            if family not in members:
                members[family] = []
            members[family].append(summary)
            if family not in heads and not summary.hidden and not is_stub(summary) and summary.copy_of is None:
                heads[family] = summary
    rows: list[tuple[Summary, Sequence[Summary]]] = []
    for summary in ordered:
        family = family_at(summary.path)
        if family is None:
            rows.append((summary, alone))
        elif summary is (heads.get(family) or members[family][0]):
            rows.append((summary, [member for member in members[family] if member is not summary]))
    return rows
