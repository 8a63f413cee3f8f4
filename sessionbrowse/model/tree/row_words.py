"""Text helpers for the rows of all programs: join content, put it on one line, cut it as JavaScript does."""

from __future__ import annotations

import re

from msgspec import Struct

from sessionbrowse.format.javascript import cut, trim
from sessionbrowse.format.javascript_values import MISSING, string
from sessionbrowse.format.json_value import Json

Fields = dict[str, Json]
"""A JSON object as it stands in the file. Rows are made of these, not of structs: a missing key prints otherwise
than null, and odd values print too."""

TEXT_UNITS = 200
"""UTF-16 units of a message's text that are shown and searched."""

_BREAKS = re.compile("[\n\t]")


class Call(Struct, frozen=True):
    """A tool call of an answer, as it stands in the file."""

    name: Json
    arguments: Json


def one_line(text: Json) -> str:
    """Return a text with newlines and tabs as blanks, trimmed; empty where the programs would fail on it."""
    return trim(_BREAKS.sub(" ", text)) if isinstance(text, str) else ""


def joined_text(content: Json) -> str:
    """Return all text blocks of a content as one text, nothing between them; a string content as it is."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join([string(block.get("text", MISSING)) for block in content if is_text_block(block)])


def is_text_block(block: Json) -> bool:
    """Tell whether a content block holds text."""
    return isinstance(block, dict) and block.get("type") == "text"


def first_text(content: Json) -> str:
    """Return the beginning of a content's text, as much as a row shows and the search looks at."""
    return cut(joined_text(content), TEXT_UNITS)


def words(*parts: Json) -> str:
    """Return what the search looks at: the parts with blanks between, without missing ones."""
    return " ".join([string(part) for part in parts if part is not None and part is not MISSING])
