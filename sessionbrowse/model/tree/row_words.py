"""Text helpers for the rows of all programs: join content, put it on one line, cut it as JavaScript does."""

from __future__ import annotations

import re

from msgspec import Struct

from sessionbrowse.format.javascript import cut, trim
from sessionbrowse.format.javascript_values import MISSING, string
from sessionbrowse.format.json_value import Json

Fields = dict[str, Json]
"""A JSON object as written in the file.

Rows are made from these, not from structs, because the programs print a missing key otherwise than null, and also
print values of a wrong type.
"""

TEXT_UNITS = 200
"""Maximum number of UTF-16 units of a message's text that are shown and searched."""

_BREAKS = re.compile("[\n\t]")


class Call(Struct, frozen=True):
    """A tool call of an answer, as written in the file."""

    name: Json
    arguments: Json


def one_line(text: Json) -> str:
    """Return a text with newlines and tabs as blanks, trimmed; "" for a value on which the programs would fail."""
    return trim(_BREAKS.sub(" ", text)) if isinstance(text, str) else ""


def joined_text(content: Json) -> str:
    """Return the text blocks of a content joined without separator, or the content itself if it is a string."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join([string(block.get("text", MISSING)) for block in content if is_text_block(block)])


def is_text_block(block: Json) -> bool:
    """Tell whether a content block holds text."""
    return isinstance(block, dict) and block.get("type") == "text"


def first_text(content: Json) -> str:
    """Return the beginning of a message's text, at most as many characters as a row shows and the search reads."""
    return cut(joined_text(content), TEXT_UNITS)


def words(*parts: Json) -> str:
    """Join the parts of a search text with blanks, without missing parts."""
    return " ".join([string(part) for part in parts if part is not None and part is not MISSING])
