"""Plans for changes of session files, and the rules for names and labels that the programs share.

A plan only describes a change: an agent's `rename` returns a plan, and `store/write/writer.py` executes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from sessionbrowse.format.json_value import Json, json_line, trim
from sessionbrowse.model.session.parents import CHECKOUT_TYPE

if TYPE_CHECKING:
    from sessionbrowse.format.title_slot import Source

_LINE_ENDS = re.compile(r"[\r\n]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = re.compile("[\u2028\u2029]")
_SPACES = re.compile(" +")


class AppendLine(Struct, frozen=True, kw_only=True):
    """The plan to append one entry to a session file.

    If `parent_id` is unset, the parent is the entry that is last in the file at the time of writing. If `own_first` is
    True, the keys in `fields` precede the id, as in the `custom` entries that the programs write. If `keep_mtime` is
    True, the writer restores the file's modification time.
    """

    type: str
    fields: dict[str, Json]
    own_first: bool = False
    parent_id: str | UnsetType | None = UNSET
    keep_mtime: bool = True

    def line(self, entry_id: str, parent_id: str | None, timestamp: str) -> bytes:
        """Return the entry as a line of JSON with its newline; `timestamp` is ISO 8601."""
        base = {"id": entry_id, "parentId": parent_id, "timestamp": timestamp}
        body = {**self.fields, **base} if self.own_first else {**base, **self.fields}
        return json_line({"type": self.type, **body})


class OverwriteSlot(Struct, frozen=True, kw_only=True):
    """The plan to overwrite omp's title slot: the first line of a file, always 256 bytes, which contains the name."""

    title: str
    source: Source | None


class InsertSlot(Struct, frozen=True, kw_only=True):
    """The plan to insert a title slot before a file's first line; omp up to 16.2 wrote files without title slots."""

    title: str
    source: Source | None


RenamePlan = AppendLine | OverwriteSlot | InsertSlot


def name_entry(name: str) -> AppendLine:
    """Return the plan to append an entry that names the session; "" clears the name."""
    return AppendLine(type="session_info", fields={"name": name})


def label_entry(target_id: str, label: str | None) -> AppendLine:
    """Return the plan to append an entry that labels the entry `target_id`, or clears its label if `label` is None."""
    fields = {"targetId": target_id} if label is None else {"targetId": target_id, "label": label}
    return AppendLine(type="label", fields=fields)


def checkout_entry(wanted_id: str | None, parent_id: str | None) -> AppendLine:
    """Return the plan to append a custom entry below the entry `parent_id`, so that the program resumes there.

    If `parent_id` is None, the program resumes before the first entry. `wanted_id` is the entry that the user chose; if
    it is a user message, `parent_id` is its parent.
    """
    fields = {"customType": CHECKOUT_TYPE, "data": {"checkout": wanted_id}}
    return AppendLine(type="custom", fields=fields, own_first=True, parent_id=parent_id, keep_mtime=False)


def line_name(text: str) -> str:
    """Return a name cleaned as pi does: adjacent line ends become one space, and blanks at both ends are removed.

    Unlike in pi, control characters become spaces too, because a terminal would execute them. U+2028 and U+2029 also
    become spaces, because pi's session list would split the line at these characters and lose the name.
    """
    text = _SEPARATORS.sub(" ", _CONTROL.sub(" ", _LINE_ENDS.sub(" ", whole_characters(text))))
    return trim(text)


def title_name(text: str) -> str:
    """Return a name cleaned as omp does: control characters and runs of spaces become one space, ends are trimmed."""
    return trim(_SPACES.sub(" ", _CONTROL.sub(" ", whole_characters(text))))


def label_text(text: str) -> str:
    """Return a label without blanks at its ends, as the programs store it, and with control characters as spaces."""
    return line_name(text)


def whole_characters(text: str) -> str:
    """Return a text in which surrogate pairs are joined into one character, and lone surrogates become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
