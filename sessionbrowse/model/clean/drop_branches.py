"""Decide which entries a clean copy leaves out, and adapt the rest: parents, labels, name, compactions, leaf.

The rules were tested on random trees with the versions 0.87.1 and 1.5.2 of pi: the context at every kept entry stays
the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.errors import NeedsRepair, NothingStays
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.model.session.session import LabelMark, Session, next_name
from sessionbrowse.model.usage.branch_costs import active_entries

_SAID = frozenset({"message", "custom_message", "compaction", "branch_summary", "context_edit", "reset_boundary"})


class Again(Struct, frozen=True):
    """A label or name entry that is left out, but written again at the copy's end: type, time and other fields."""

    type: str
    timestamp: Json
    fields: dict[str, Json]


class CopyShape(Struct, frozen=True, kw_only=True):
    """The structure of a clean copy: indexes of left-out entries, of entries with new parents, and of the leaf.

    `out` are the left-out entries. `parents` maps entries to their new parents (`ROOT`: no parent). `again` are the
    label and name lines to write again at the end. `links` maps each compaction that refers to a left-out entry to the
    entries to write instead, by the name of the field. `needs_leaf_line` is True if an entry must be appended below the
    leaf, because agents resume at a file's last entry. `labels_gone` counts the labels of left-out entries.
    """

    out: frozenset[int] = frozenset()
    parents: dict[int, int] = {}
    again: tuple[Again, ...] = ()
    links: dict[int, dict[str, int]] = {}
    leaf: int = ROOT
    needs_leaf_line: bool = False
    labels_gone: int = 0


def abandoned(session: Session, *, keep_labelled: bool) -> frozenset[int]:
    """Return the topmost entry of each abandoned branch that has a message or a summary.

    With `keep_labelled`, the path to each labelled entry of an abandoned branch, and all entries below it, count as
    active. A label on the active branch keeps no other branch, even if it is at the entry where one begins.
    """
    parents = session.parents
    stays = set(session.active_branch()) | active_entries(session)
    if keep_labelled:
        labelled = [at for at in session.labels if at not in stays and session.envelopes[at].type in _SAID]
        for target in session.labels:
            at = target
            while at != ROOT and at not in stays:
                stays.add(at)
                at = parents[at]
        stays |= below(session, labelled)
    said = set()
    for index in range(len(parents)):
        at = index
        if session.envelopes[index].type in _SAID:
            while at != ROOT and at not in said:
                said.add(at)
                at = parents[at]
    return frozenset(
        index
        for index in said
        if index not in stays and (parents[index] == ROOT or parents[index] in stays or parents[index] not in said)
    )


def below(session: Session, tops: Iterable[int]) -> set[int]:
    """Return the given entries and all their descendants."""
    found: set[int] = set()
    waiting = list(tops)
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting += session.children(index)
    return found


def shape_of(session: Session, drop: frozenset[int]) -> CopyShape:
    """Return the structure of a copy without the entries `drop` and all their descendants.

    Raises:
        RefusedWrite: the file has repeated or missing ids, or a loop of parents. NothingStays: no message is kept.
    """
    if not drop:
        return CopyShape(leaf=ROOT if session.leaf is None else session.leaf)
    _refuse_ambiguous(session)
    dropped = below(session, drop)
    out = dropped | _labels_of(session, dropped)
    parents = session.parents
    kept = [index for index in range(len(parents)) if index not in out]
    if not any(session.envelopes[index].type == "message" for index in kept):
        raise NothingStays("No message would stay. Delete the session instead; nothing was changed.")
    moved = {index: _nearest(session, index, out) for index in kept if parents[index] in out}
    leaf = session.leaf if session.leaf is not None and session.leaf not in out else None
    if leaf is None:
        leaf = _nearest(session, session.leaf, out) if session.leaf is not None else ROOT
    if leaf == ROOT:
        leaf = max(index for index in kept if session.envelopes[index].type == "message")
    again = (*_labels_again(session, out), *_name_again(session, out))
    return CopyShape(
        out=frozenset(out),
        parents=moved,
        again=again,
        links=_links(session, out),
        leaf=leaf,
        needs_leaf_line=not again and kept[-1] != leaf,
        labels_gone=sum(1 for target in session.labels if target in out),
    )


def _refuse_ambiguous(session: Session) -> None:
    by_id = session.index_by_id
    is_sound = len(by_id) == len(session.ids) and all(
        parent == (ROOT if parent_id is None else by_id.get(parent_id, ROOT))
        for parent, parent_id in zip(session.parents, [entry.parent_id for entry in session.envelopes], strict=True)
    )
    if not is_sound:
        raise NeedsRepair(
            "Some entries have no id, or the same id, or their parents form a loop. Repair the session first; nothing "
            "was changed."
        )


def _labels_of(session: Session, dropped: set[int]) -> set[int]:
    """Return the label entries whose labelled entry the copy leaves out, so that it leaves them out too."""
    labels = [(index, one.target_id) for index, one in enumerate(session.envelopes) if one.type == "label"]
    out: set[int] = set()
    while True:
        more = {
            index
            for index, target_id in labels
            if index not in out
            and index not in dropped
            and (target := session.index_by_id.get(target_id or "")) is not None
            and (target in dropped or target in out)
        }
        if not more:
            return out
        out |= more


def _nearest(session: Session, index: int, out: set[int]) -> int:
    """Return the nearest ancestor of an entry that the copy keeps, `ROOT` if there is none."""
    at = session.parents[index]
    while at != ROOT and at in out:
        at = session.parents[at]
    return at


def _labels_again(session: Session, out: set[int]) -> list[Again]:
    """Return the label lines to write again: one for each kept entry whose label would otherwise be lost or changed."""
    marks: dict[str, LabelMark | None] = {}
    last: dict[str, int] = {}
    for index, entry in enumerate(session.envelopes):
        if entry.type == "label" and entry.target_id is not None:
            last[entry.target_id] = index
            if index not in out:
                marks[entry.target_id] = LabelMark(entry.text, entry.timestamp, index) if entry.text else None
    again = []
    for target_id, index in sorted(last.items(), key=lambda item: item[1]):
        target = session.index_by_id.get(target_id)
        if target is None or target in out or session.labels.get(target) == marks.get(target_id):
            continue
        line = session.fields(index)
        fields = {"targetId": target_id} | ({"label": line["label"]} if line.get("label") else {})
        again.append(Again("label", line.get("timestamp"), fields))
    return again


def _name_again(session: Session, out: set[int]) -> list[Again]:
    """Return the line to write again if the copy leaves out the entry that set or cleared the session's name.

    For omp, no line is needed, because omp stores the name in the title slot at the start of the file.
    """
    if session.rules.name == "title_slot":
        return []
    infos = [index for index, entry in enumerate(session.envelopes) if entry.type == "session_info"]
    name: str | None = None
    for index in infos:
        if index not in out:
            name = next_name(session.rules, name, session.envelopes[index])
    if name == session.name:
        return []
    # indusagi ignores lines with an empty name, so write the last line again that has a name.
    filled = [index for index in infos if session.envelopes[index].text] if session.name else infos
    line = session.fields(filled[-1])
    return [Again("session_info", line.get("timestamp"), {"name": line.get("name") if session.name else ""})]


def _links(session: Session, out: set[int]) -> dict[int, dict[str, int]]:
    """Map each compaction that refers to left-out entries to entries that the copy contains, by the name of the field.

    A left-out first kept entry is replaced by the next entry on the path, a left-out last entry that a provider's
    summary covers by the previous one.
    """
    found: dict[int, dict[str, int]] = {}
    for index in range(len(session.ids)):
        if index in out or session.envelopes[index].type != "compaction":
            continue
        fields = session.fields(index)
        for key in ("firstKeptEntryId", "providerReplayThroughEntryId"):
            named = session.index_by_id.get(str(fields.get(key)))
            path = session.branch(index) if named in out else []
            if named is None or named not in path:
                continue
            place = path.index(named)
            near = path[place:] if key == "firstKeptEntryId" else path[place::-1]
            copied = next((at for at in near if at not in out), None)
            if copied is not None:
                found.setdefault(index, {})[key] = copied
    return found
