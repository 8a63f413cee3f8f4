"""Read a session header from a broken first line, field by field, as omp's session list does."""

from __future__ import annotations

import re

from sessionbrowse.format.entries import Header
from sessionbrowse.format.json_value import BadJson, loads

LISTED_BYTES = 4096
"""Number of bytes that omp's session list reads at the beginning of a file."""

_TEXT = re.compile(r'[ \t\n\r]*"((?:[^"\\]|\\.)*)', re.DOTALL)


def listed_header(line: str) -> Header | None:
    """Return the header that omp 18.2.3 shows in its session list for a broken first line.

    Return None if omp does not list the file.
    """
    header_id = text_field(line, "id")
    if text_field(line, "type") != "session" or not header_id:
        return None
    return Header(
        id=header_id,
        cwd=text_field(line, "cwd"),
        title=text_field(line, "title"),
        parent_session=text_field(line, "parentSession"),
        timestamp=text_field(line, "timestamp"),
    )


def text_field(line: str, name: str) -> str | None:
    """Return the string after the first occurrence of a JSON key in a broken line, even if the string is cut off.

    Return None if the key is missing or its value is no string.
    """
    key = line.find(f'"{name}"')
    colon = line.find(":", key + len(name) + 2) if key >= 0 else -1
    found = _TEXT.match(line, colon + 1) if colon >= 0 else None
    if found is None:
        return None
    try:
        return str(loads(f'"{found[1]}"'.encode("utf-8", "surrogatepass")))
    except BadJson:
        plain = found[1].replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
        return plain.replace('\\"', '"').replace("\\\\", "\\")
