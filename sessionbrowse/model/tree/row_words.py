"""Helpers for the row texts of all agent programs: join the text of a message, put it on one line, and cut it."""

from __future__ import annotations

import re

from msgspec import Struct

from sessionbrowse.format.javascript import MISSING, cut, string, trim
from sessionbrowse.format.json_value import Json

Fields = dict[str, Json]
"""A JSON object as written in the file.

Row texts are made from JSON objects, not from structs, because the agent programs print missing keys, null and values
of a wrong type differently.
"""

TEXT_UNITS = 200
"""Maximum length of the part of a message's text that a tree shows and searches, in UTF-16 units."""

_BREAKS = re.compile("[\n\t]")


class Call(Struct, frozen=True):
    """A tool call of an answer, as written in the file."""

    name: Json
    arguments: Json


def one_line(text: Json) -> str:
    """Return a text with newlines and tabs replaced by blanks, and trimmed; "" for a value that is not a string."""
    return trim(_BREAKS.sub(" ", text)) if isinstance(text, str) else ""


def joined_text(content: Json) -> str:
    """Return the text of a message's content: all text blocks joined without separator, or the string itself."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join([string(block.get("text", MISSING)) for block in content if is_text_block(block)])


def is_text_block(block: Json) -> bool:
    """Return True if a value is a content block of type "text"."""
    return isinstance(block, dict) and block.get("type") == "text"


def first_text(content: Json) -> str:
    """Return the beginning of the text of a message's content, at most `TEXT_UNITS` long."""
    return cut(joined_text(content), TEXT_UNITS)


def shown_field(entry: Fields, key: str) -> str:
    """Return a field of an entry as JavaScript's string conversion shows it, "undefined" if the field is missing."""
    return string(entry.get(key, MISSING))


def words(*parts: Json) -> str:
    """Return the given values joined by blanks as a search text; null and missing values are skipped."""
    return " ".join([string(part) for part in parts if part is not None and part is not MISSING])
