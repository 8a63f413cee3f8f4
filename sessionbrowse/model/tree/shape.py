"""The tree of the entries that a filter shows, in display order: hidden entries are removed, their children move up.

The five filters are those of the agent programs: pi 1.5.2, omp 18.2.3 and atomic 0.9.15; for indusagi, a fork of pi,
those of pi 0.50. Only omp's "user-only" filter reads the session file.

Facts that do not depend on a search are computed once for each filter. Each letter that the user adds to a search then
takes time only for the search's hits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import compress
from typing import Literal
from weakref import WeakKeyDictionary

from msgspec import Struct

from sessionbrowse.format.entries import CustomMessage, CustomRoleMessage, MessageEntry
from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.rules import AgentName
from sessionbrowse.model.session.session import ROOT, Session

FilterName = Literal["default", "no-tools", "user-only", "labeled-only", "all"]

_BOOKKEEPING = frozenset({"label", "custom", "model_change", "thinking_level_change"})
_OMP_BOOKKEEPING = frozenset(
    {
        "model_usage",
        "service_tier_change",
        "title_change",
        "credential_pin",
        "session_init",
        "ttsr_injection",
        "mode_change",
        "reset_boundary",
    }
)
_HIDDEN_BY_DEFAULT: dict[str, frozenset[str]] = {
    "pi": _BOOKKEEPING | {"context_edit", "session_info"},
    "omp": _BOOKKEEPING | _OMP_BOOKKEEPING,
    "atomic": _BOOKKEEPING | {"session_info"},
    "indusagi": _BOOKKEEPING,
}
_ORDINARY_ENDS = frozenset({None, "", "stop", "toolUse"})
_USER_PROMPT_TYPES = frozenset({"skill-prompt", "collab-prompt"})


def shown(session: Session, filter_name: str, leaf: int | None) -> bytes:
    """Return a byte for each entry: 1 if the filter shows the entry, else 0. Unknown filters are like "default".

    No filter shows `usage` entries of pi. Answers without text are shown only if they are the leaf or did not end
    normally.
    """
    entries, tree = session.envelopes, session.rules.tree
    match filter_name:
        case "all":
            flags = bytearray(b"\1" * len(entries))
        case "labeled-only":
            flags = bytearray(len(entries))
            for index in session.labels:
                flags[index] = 1
        case "user-only":
            flags = bytearray([entry.role == "user" and entry.type == "message" for entry in entries])
            if tree == "omp":
                _add_user_prompts(session, flags)
        case _:
            hidden = _HIDDEN_BY_DEFAULT[tree]
            flags = bytearray([entry.type not in hidden for entry in entries])
    for index, entry in enumerate(entries):
        if flags[index] and _is_silent(entry, tree, filter_name == "no-tools"):
            flags[index] = index == leaf and entry.role == "assistant"
    return bytes(flags)


def _is_silent(entry: Envelope, tree: AgentName, without_tools: bool) -> bool:
    if entry.role == "assistant":
        says = entry.has_words if tree == "omp" else entry.has_text
        return not says and entry.stop_reason in _ORDINARY_ENDS and entry.type == "message"
    if entry.type == "message":
        return without_tools and entry.role == "toolResult"
    return entry.type == "usage" and tree == "pi"


def _add_user_prompts(session: Session, flags: bytearray) -> None:
    """Add the user's prompts that omp stores as custom messages: set their items in `flags` to 1 (shown)."""
    for index, envelope in enumerate(session.envelopes):
        if envelope.custom_type not in _USER_PROMPT_TYPES:
            continue
        match session.entry(index):
            case MessageEntry(message=CustomRoleMessage(attribution="user")):
                flags[index] = envelope.role == "custom"
            case CustomMessage(attribution="user", content=content):
                flags[index] = content is not None


def display_order(session: Session, leaf: int | None) -> list[int]:
    """Return the indexes of all entries in the order of the tree's rows.

    Siblings are ordered by time, but a sibling on the path to `leaf` comes first.
    """
    active = bytearray(len(session.parents))
    for index in session.branch(leaf):
        active[index] = 1
    children_of = session.children
    order: list[int] = []
    stack = _active_last(session.roots, active)
    while stack:
        index = stack.pop()
        order.append(index)
        children = children_of(index)
        while len(children) == 1:
            index = children[0]
            order.append(index)
            children = children_of(index)
        if children:
            stack += _active_last(children, active)
    return order


def _active_last(siblings: list[int], active: bytearray) -> list[int]:
    """Return siblings in reverse display order, because the caller takes the last one first.

    A sibling on the active branch (`active` has a flag for each entry) comes last.
    """
    backwards = siblings[::-1]
    for place, index in enumerate(backwards):
        if active[index]:
            return [*backwards[:place], *backwards[place + 1 :], index]
    return backwards


class Shape(Struct, frozen=True, eq=False):
    """The tree of some entries of a session, for example those that a filter shows.

    `order` has the entries in display order. Three lists are indexed by entry: `above` is the nearest ancestor in the
    tree, `count` the number of children, `last` the last child. The last item of each list, at `ROOT`, is for an
    invisible parent of all roots.
    """

    order: Sequence[int]
    above: list[int]
    count: list[int]
    last: list[int]


class TreeLayout:
    """The entries of a session in display order; `kept` has a flag for each entry, 1 if the filter shows the entry.

    The object has no reference to its session, because it is cached in a weak dictionary whose keys are sessions.
    """

    def __init__(self, session: Session, filter_name: str, leaf: int | None) -> None:
        # If the last entry has no id, there is no active path, but the last entry still determines the order.
        self.path: Sequence[int] = session.active_branch() if leaf is None else session.branch(leaf)
        self.leaf = session.leaf if leaf is None else leaf
        self.kept = shown(session, filter_name, self.leaf)
        self._parents = session.parents
        self._order = display_order(session, self.leaf)

    @cached_property
    def chosen(self) -> list[int]:
        """The indexes of the entries that the filter shows, in display order."""
        return list(compress(self._order, map(self.kept.__getitem__, self._order)))

    @cached_property
    def active(self) -> bytes:
        """A flag for each entry: 1 if the entry is on the path to the leaf, else 0."""
        flags = bytearray(len(self.kept))
        for index in self.path:
            flags[index] = 1
        return bytes(flags)

    @cached_property
    def shape(self) -> Shape:
        """The tree of all entries that the filter shows."""
        return self.shape_of(self.chosen)

    @cached_property
    def whole(self) -> Shape:
        """The tree of all entries of the session, including those that the filter hides."""
        return self.shape_of(self._order)

    def shape_of(self, chosen: Sequence[int]) -> Shape:
        """Return the tree of the entries in `chosen`, which must be in display order."""
        size = len(self._parents) + 1
        above, count, last = [ROOT] * size, [0] * size, [ROOT] * size
        places, ends = self._places
        up = ROOT
        for index in chosen:
            place = places[index]
            while ends[up] <= place:
                up = above[up]
            above[index] = up
            count[up] += 1
            last[up] = index
            up = index
        return Shape(chosen, above, count, last)

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return the entries in `chosen` in display order, without entries that are below no root."""
        places = self._places[0]
        return sorted([index for index in chosen if places[index] >= 0], key=places.__getitem__)

    def branch_points_above(self, chosen: Iterable[int]) -> set[int]:
        """Return all branch points above the entries in `chosen`, in the tree of the entries that the filter shows."""
        found: set[int] = set()
        nearest = self._branch_point_above
        for index in chosen:
            up = nearest[index]
            while up != ROOT and up not in found:
                found.add(up)
                up = nearest[up]
        return found

    @cached_property
    def _branch_point_above(self) -> list[int]:
        above, count = self.shape.above, self.shape.count
        nearest = [ROOT] * len(above)
        for index in self.chosen:
            up = above[index]
            nearest[index] = up if up == ROOT or count[up] > 1 else nearest[up]
        return nearest

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Two positions of each entry in display order, as two lists: its own, and the one after its last descendant.

        The last item of the lists, at `ROOT`, is for an invisible parent of all roots.
        """
        size, parents = len(self._parents) + 1, self._parents
        places, ends = [ROOT] * size, [0] * size
        for place, index in enumerate(self._order):
            places[index] = place
            ends[index] = place + 1
        for index in reversed(self._order):
            up = parents[index]
            if ends[up] < ends[index]:
                ends[up] = ends[index]
        ends[ROOT] = size
        return places, ends


def tree_layout(session: Session, filter_name: str, leaf: int | None) -> TreeLayout:
    """Return the tree layout of a session for a filter; `leaf` None means the session's leaf, `ROOT` no leaf."""
    key = filter_name, leaf
    kept = _LAYOUTS.get(session)
    if kept is None or kept[0] != key:
        kept = _LAYOUTS[session] = (key, TreeLayout(session, filter_name, leaf))
    return kept[1]


# The last layout of each session is cached, because each letter typed into a search needs the same layout.
_LAYOUTS: WeakKeyDictionary[Session, tuple[tuple[str, int | None], TreeLayout]] = WeakKeyDictionary()
