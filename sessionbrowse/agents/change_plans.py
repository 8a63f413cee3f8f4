"""Planned changes of session files as values, and the rules for names and labels that the programs share.

An agent's `rename` returns a plan; only `store/write/writer.py` carries plans out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from sessionbrowse.format.encode import json_line
from sessionbrowse.format.javascript import trim
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.session.stranded_messages import CHECKOUT_TYPE

if TYPE_CHECKING:
    from sessionbrowse.format.title_slot import Source

_LINE_ENDS = re.compile(r"[\r\n]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = re.compile("[\u2028\u2029]")
_SPACES = re.compile(" +")


class AppendLine(Struct, frozen=True, kw_only=True):
    """The plan to append one entry to a session file.

    If `parent_id` is unset, the parent is the file's last entry when the line is written. `own_first` writes `fields`
    before the id, as the programs do for `custom` entries. `keep_mtime` restores the file's modification time.
    """

    type: str
    fields: dict[str, Json]
    own_first: bool = False
    parent_id: str | UnsetType | None = UNSET
    keep_mtime: bool = True

    def line(self, entry_id: str, parent_id: str | None, timestamp: str) -> bytes:
        """Return the line with its newline; the timestamp is ISO 8601."""
        base = {"id": entry_id, "parentId": parent_id, "timestamp": timestamp}
        body = {**self.fields, **base} if self.own_first else {**base, **self.fields}
        return json_line({"type": self.type, **body})


class OverwriteSlot(Struct, frozen=True, kw_only=True):
    """The plan to overwrite omp's title slot in place: the first line, of fixed size, which holds the name."""

    title: str
    source: Source | None


class InsertSlot(Struct, frozen=True, kw_only=True):
    """The plan to insert a title slot before the first line of a file that omp up to 16.2 wrote without one."""

    title: str
    source: Source | None


RenamePlan = AppendLine | OverwriteSlot | InsertSlot


def name_entry(name: str) -> AppendLine:
    """Plan the entry that names a session; "" clears the name."""
    return AppendLine(type="session_info", fields={"name": name})


def label_entry(target_id: str, label: str | None) -> AppendLine:
    """Plan the entry that labels the entry `target_id`; with `label` None it clears the older label."""
    fields = {"targetId": target_id} if label is None else {"targetId": target_id, "label": label}
    return AppendLine(type="label", fields=fields)


def checkout_entry(wanted_id: str | None, parent_id: str | None) -> AppendLine:
    """Plan a hidden entry below `parent_id`; as the file's last entry it makes the program resume at that point.

    `parent_id` None makes the program resume before the first entry. `wanted_id` is the entry that the user chose.
    """
    fields = {"customType": CHECKOUT_TYPE, "data": {"checkout": wanted_id}}
    return AppendLine(type="custom", fields=fields, own_first=True, parent_id=parent_id, keep_mtime=False)


def line_name(text: str) -> str:
    """Clean a name as pi does: runs of line ends become one space, ends are trimmed.

    Unlike in pi, two more kinds of characters become spaces: all control characters, so that no terminal obeys them,
    and U+2028 and U+2029, at which pi's own list would cut the line in two and lose the name.
    """
    text = _SEPARATORS.sub(" ", _CONTROL.sub(" ", _LINE_ENDS.sub(" ", whole_characters(text))))
    return trim(text)


def title_name(text: str) -> str:
    """Clean a title as omp does: control characters become spaces, runs of spaces one, ends are trimmed."""
    return trim(_SPACES.sub(" ", _CONTROL.sub(" ", whole_characters(text))))


def label_text(text: str) -> str:
    """Clean a label: trim it, as the programs do, and remove control characters."""
    return line_name(text)


def whole_characters(text: str) -> str:
    """Join halves of surrogate pairs; a lone half becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
