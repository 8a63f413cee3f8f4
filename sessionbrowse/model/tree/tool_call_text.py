"""The text of a tool call in a tree row, such as `[read: ~/notes.md:5-14]`, and helpers for row texts of all agents.

The rules are those of pi 1.6.0 and omp 18.3.4; atomic 0.9.15 and indusagi 0.12.15 follow older versions of pi. For an
edit whose argument is a patch, omp shows no path; this module shows the files in the patch.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Callable

from msgspec import Struct

from sessionbrowse.format.json_value import (
    MISSING,
    BadJson,
    Json,
    cut,
    is_true,
    loads,
    number,
    string,
    stringify_head,
    to_number,
    trim,
    units,
)
from sessionbrowse.model.edits import paths_of
from sessionbrowse.model.session.rules import AgentName

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


_COMMAND_UNITS = 50
_ARGUMENTS_UNITS = 40
# Calls of these tools have a special row text. atomic has no tool `grep`, but `search`; omp has no `find`, but `glob`.
SHOWN_TOOLS: dict[AgentName, frozenset[str]] = {
    "pi": frozenset({"read", "write", "edit", "bash", "grep", "find", "ls"}),
    "omp": frozenset({"read", "write", "edit", "bash", "grep", "glob", "ls"}),
    "atomic": frozenset({"read", "write", "edit", "bash", "find", "ls"}),
    "indusagi": frozenset({"read", "write", "edit", "bash", "grep", "find", "ls"}),
}


def tool_call_text(agent: AgentName, call: Call, home: str) -> str:
    """Return the text of a tool call for the row of the tool's result; paths below `home` begin with `~`."""
    name = string(call.name)
    shorten = _SHORTEN[agent]
    if name not in SHOWN_TOOLS[agent]:
        return _any_call(name, call.arguments)
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    match name:
        case "read":
            path = shorten(_first_true(arguments, "path", "file_path"), home)
            given = arguments.get("offset", MISSING), arguments.get("limit", MISSING)
            return f"[read: {path}{_range_of_pi(*given) if agent == 'pi' else _range_of_others(*given)}]"
        case "write" | "edit":
            path = _first_true(arguments, "path", "file_path") or ", ".join(paths_of(arguments))
            return f"[{name}: {shorten(path, home)}]"
        case "bash":
            command = _first_true(arguments, "command")
            more = "..." if units(command) > _COMMAND_UNITS else ""
            return f"[bash: {cut(one_line(command), _COMMAND_UNITS)}{more}]"
        case "grep":
            where = _omp_scope(arguments, "paths", "path") if agent == "omp" else _path_or_here(arguments)
            return f"[grep: /{_first_true(arguments, 'pattern')}/ in {shorten(where, home)}]"
        case "glob":
            return f"[glob: {shorten(_omp_scope(arguments, 'path', 'paths'), home)}]"
        case "find":
            return f"[find: {_first_true(arguments, 'pattern')} in {shorten(_path_or_here(arguments), home)}]"
        case _:
            return f"[ls: {shorten(_path_or_here(arguments), home)}]"


_PATHS = ("file_path", "notebook_path", "path")
_TELLING = ("command", "cmd", "pattern", *_PATHS, "query", "url", "skill", "description")
"""Arguments of tools of Claude Code and Codex that say what a call does, the most telling first."""


def other_call_text(call: Call, home: str) -> str:
    """Return the text of a tool call of Claude Code or Codex: its name and its most telling argument."""
    name, arguments = string(call.name), call.arguments if isinstance(call.arguments, dict) else {}
    for key in _TELLING:
        told = arguments.get(key)
        if isinstance(told, list) and told:
            told = told[-1]  # Codex calls a shell with a command: `["bash", "-lc", COMMAND]`.
        if isinstance(told, str) and told:
            text = _shorten_like_pi(told, home) if key in _PATHS else one_line(told)
            more = "..." if key not in _PATHS and units(text) > _COMMAND_UNITS else ""
            return f"[{name}: {cut(text, _COMMAND_UNITS) if more else text}{more}]"
    return _any_call(name, call.arguments)


def _any_call(name: str, arguments: Json) -> str:
    if arguments is MISSING:
        return f"[{name}]"
    head, is_cut = stringify_head(arguments, _ARGUMENTS_UNITS)
    return f"[{name}: {head}{'...' if is_cut else ''}]"


def _first_true(arguments: dict[str, Json], *keys: str) -> str:
    for key in keys:
        if is_true(arguments.get(key)):
            return string(arguments[key])
    return ""


def _path_or_here(arguments: dict[str, Json]) -> str:
    return _first_true(arguments, "path") or "."


def _omp_scope(arguments: dict[str, Json], *keys: str) -> str:
    """Return the paths that an omp tool searches, joined by commas; "." if the tool call has no paths.

    `keys` are the names of the arguments to try, in this order. An argument is a list of paths, a path, or a JSON list
    of paths in a string.
    """
    for key in keys:
        found = arguments.get(key)
        if isinstance(found, str):
            listed = _list_in_text(found)
            found = [found] if listed is None else listed
        elif not isinstance(found, list) or key == "path":
            continue
        return ", ".join(["" if path is None else string(path) for path in found]) if found else "."
    return "."


def _list_in_text(text: str) -> list[str] | None:
    trimmed = trim(text)
    if not (trimmed.startswith("[") and trimmed.endswith("]")):
        return None
    try:
        found = loads(trimmed.encode("utf-8", "surrogatepass"))
    except BadJson:
        return None
    return found if isinstance(found, list) and all(isinstance(path, str) for path in found) else None


# ---- lines of a file -------------------------------------------------------------------------------------------


def _range_of_pi(offset: Json, limit: Json) -> str:
    if offset in (None, MISSING) and limit in (None, MISSING):
        return ""
    start = 1.0 if offset in (None, MISSING) else _line_number(offset)
    if start is None:
        return ""
    if limit in (None, MISSING):
        return f":{number(start)}"
    count = _line_number(limit)
    if count is None:
        return ""
    end = start + count - 1
    return f":{number(start)}-{number(end)}" if end else f":{number(start)}"


def _line_number(value: Json) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and trim(value)):
        return None
    found = to_number(value)
    return found if math.isfinite(found) else None


def _range_of_others(offset: Json, limit: Json) -> str:
    """Return a range of lines as pi before 1.5 and its forks write it.

    These programs add offset and limit with JavaScript's `+`, which joins texts: "5" and 10 become 510.
    """
    if offset is MISSING and limit is MISSING:
        return ""
    start = 1 if offset in (None, MISSING) else offset
    if limit is MISSING:
        return f":{string(start)}"
    both = [value if isinstance(value, int | float | None) else string(value) for value in (start, limit)]
    joined = any(isinstance(value, str) for value in both)
    end = to_number("".join(map(string, both))) if joined else sum(map(to_number, both))
    end -= 1
    return f":{string(start)}-{number(end)}" if is_true(end) else f":{string(start)}"


# ---- paths -----------------------------------------------------------------------------------------------------


def _shorten_like_pi(path: str, home: str) -> str:
    if not home.startswith("/") or not path.startswith("/"):
        return path
    base, inside = _normal(home), _normal(path)
    if inside == base:
        return "~"
    return f"~/{inside[len(base) :].lstrip('/')}" if inside.startswith(base.rstrip("/") + "/") else path


def _shorten_like_omp(path: str, home: str) -> str:
    rest = path[len(home) :]
    if not home or not path.startswith(home) or not (rest == "" or rest[0] in "/\\"):
        return path
    return "~" + rest.replace("\\", "/")


def _shorten_like_older_pi(path: str, home: str) -> str:
    return "~" + path[len(home) :] if home and path.startswith(home) else path


def _normal(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


_SHORTEN: dict[AgentName, Callable[[str, str], str]] = {
    "pi": _shorten_like_pi,
    "omp": _shorten_like_omp,
    "atomic": _shorten_like_older_pi,
    "indusagi": _shorten_like_older_pi,
}
