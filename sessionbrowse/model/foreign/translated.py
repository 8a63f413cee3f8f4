"""The lines of a file as records, the result of a translation (a session in pi's format), and values in both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Annotated, Generic, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, field

from sessionbrowse.format.json_value import BadJson, Json, json_bytes, json_object, loads
from sessionbrowse.format.ordinary_line import REFUSALS
from sessionbrowse.model.listing.summary import Sketch
from sessionbrowse.text import is_time, parse_time

Object = dict[str, Json]
Kind = TypeVar("Kind", bound=Struct)
Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]

UNKNOWN = "unknown: "
MISSING_PARENT = "missing parent"
"""Keys of `Translated.unread`: a record of an unknown kind (its name follows), and one whose parent is missing."""
FILES = frozenset({"document", "image"})
_DATA_URL = re.compile(r"data:([\w/+.-]+);base64,(.*)", re.DOTALL)
MARGIN = b" \t\r\n\0\xef\xbb\xbf"
_NAME_BYTES = 1024
_BRACE = ord("{")
_MOST_PLACES = 1000
_SALVAGE_BYTES = 16 * 1024 * 1024
_BEGINNING = re.compile(r'\{\s*"(?:parentUuid|type|timestamp|uuid|sessionId|isSidechain|logicalParentUuid|leafUuid)"')


class Translated(Struct, frozen=True, kw_only=True):
    """A session of Claude Code or Codex in pi's format: `header` and `made` are JSON objects as pi writes them.

    `made` are the entries; values that were only copied into them are JSON text (`Raw`). Every parent precedes its
    children, and the last entry is the leaf. Usage has no `cost`, because these programs record none. `name` is the
    session's name, else the title that the program generated, but never the first prompt.
    `unread` counts records that became no entries, by kind. `bad_lines` are lines without a record; `torn` is such a
    line at the end, which the program may still be writing. `has_ended` is False if the last turn is unfinished.
    `sketch`, if given, replaces all entries.
    """

    agent: str
    header: Object
    made: list[Object]
    name: str | None = None
    unread: dict[str, int] = {}
    bad_lines: tuple[bytes, ...] = ()
    torn: bytes = b""
    places: tuple[tuple[int, int], ...] = ()
    """For each bad line, then the torn one: its line in the program's own file, from 1, and its byte offset."""
    has_ended: bool = True
    sketch: Sketch | None = None

    @property
    def entries(self) -> list[Object]:
        """The entries with all values decoded."""
        return [loads(as_bytes(entry)) for entry in self.made]

    def lines(self) -> Iterable[bytes]:
        """Yield the lines of a session file in pi's format; lines that cannot be read follow the header.

        The header also has the name, the counts in `unread`, and a flag for an unfinished last turn. Its length is
        independent of the name: names of Codex change without the session's file, and the index stores places of lines.
        """
        told = {"unread": self.unread, "unfinished": not self.has_ended, "places": self.places, "title": self.name}
        header = {**self.header, **{key: value for key, value in told.items() if value}}
        bare = {key: value for key, value in header.items() if key != "title"}
        yield as_bytes(header).ljust(len(as_bytes(bare)) + _NAME_BYTES) + b"\n"
        yield from [line + b"\n" for line in (*self.bad_lines, *map(as_bytes, self.made))]
        yield from [self.torn] if self.torn else []


class RawLine(Struct, kw_only=True, gc=False):
    """A line of a file, decoded only to the fields that decide its kind.

    `number` is its position among the lines, from 0. It begins at byte `at` of `file`, the file's content. The names of
    these fields begin with a blank, so that no key of the file sets them.
    """

    number: int = field(default=0, name=" number")
    at: int = field(default=0, name=" at")
    file: bytes = field(default=b"", name=" file")

    @property
    def raw(self) -> bytes:
        """The whole line, with its newline if it has one."""
        return self.file[self.at : self.file.find(b"\n", self.at) + 1 or None]

    def whole(self) -> Object:
        """Return all fields of the line, as an opened session needs them."""
        return json_object(self.raw) or {}

    def item(self) -> Object:
        """Return the fields that tell something; all of them, or those of an inner object."""
        return self.whole()


Line = TypeVar("Line", bound=RawLine)


class Records(Generic[Line]):
    """The records in a file's content, decoded as structs. Lines without a record are in `bad`.

    Lines whose fields have unusual types are decoded again, without these fields. `is_record` returns True if an object
    is a record; it is called only for damaged lines, such as a line with two records, or with a record after an
    unfinished one.
    """

    def __init__(self, content: bytes, struct: type[Line], is_record: Callable[[Object], bool]) -> None:
        self.found: list[Line] = []
        self.bad: list[bytes] = []
        self.torn = b""
        self.places: list[tuple[int, int]] = []
        if not self._decode_all(content, struct):
            self._decode_each(content, struct, is_record)

    def _decode_all(self, content: bytes, struct: type[Line]) -> bool:
        """Decode all lines at once; return False, without a result, if not every line is one usual record."""
        try:
            found = _decoder(struct).decode_lines(content)
        except REFUSALS:
            return False
        begin = end = 0
        size, find = len(content), content.find
        for number, value in enumerate(found):
            begin, end = end, find(b"\n", end) + 1 or size
            # The decoder also accepts empty lines and lines of several values: check that each line begins an object.
            if begin == end or content[begin] != _BRACE:
                return False
            value.number, value.at, value.file = number, begin, content
        self.found = found if end == size else []
        return end == size

    def _decode_each(self, content: bytes, struct: type[Line], is_record: Callable[[Object], bool]) -> None:
        decode, at = _decoder(struct).decode, 0
        for number, raw in enumerate(content.split(b"\n")):
            if self.torn:
                self.bad.append(self.torn)
                self.torn = b""
            try:
                self._take(decode(raw), number, at, content)
            except REFUSALS:
                self._take_odd(number, raw, struct, is_record)
            told = len(self.bad) + bool(self.torn)
            self.places += [(number + 1, at)] * min(told - len(self.places), _MOST_PLACES - len(self.places))
            at += len(raw) + 1

    def _take(self, record: Line, number: int, at: int, content: bytes) -> None:
        record.number, record.at, record.file = number, at, content
        self.found.append(record)

    def _take_odd(self, number: int, line: bytes, struct: type[Line], is_record: Callable[[Object], bool]) -> None:
        content = line.strip(MARGIN)
        if not content:
            self.bad += [line.rstrip(b"\r")] if b"\0" in line else []
            return
        try:
            values, is_whole = [(content, loads(content))], True
        except BadJson:
            salvaged, is_whole = _salvaged(content, is_record)
            values = [(as_bytes(one), one) for one in salvaged]
        for raw, value in values:
            if isinstance(value, dict):
                self._take(usual_fields(value, struct), number, 0, raw)
            else:
                self.bad.append(raw)
        self.torn = b"" if is_whole else content


@cache
def _decoder(struct: type[Line]) -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(struct)


def usual_fields(value: Object, struct: type[Kind]) -> Kind:
    """Convert an object to a struct, leaving out values whose type does not fit the struct's field."""
    made: Object = {}
    for each in msgspec.structs.fields(struct):
        given = value.get(each.encode_name)
        kinds = get_args(each.type) or (each.type,)
        if each.type is Raw:
            made[each.name] = Raw(as_bytes(given)) if each.encode_name in value else Raw()
            continue
        listed = next((get_args(kind)[0] for kind in kinds if get_origin(kind) is list), None)
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Struct)), None)
        if listed is not None and isinstance(given, list):
            made[each.name] = [usual_fields(one, listed) for one in objects_of(given)]
        elif inner is not None and isinstance(given, dict):
            made[each.name] = usual_fields(given, inner)
        elif isinstance(given, str) and str in kinds:
            made[each.name] = given  # `convert` refuses texts with lone surrogates.
        elif each.encode_name in value:
            with suppress(msgspec.ValidationError, UnicodeEncodeError):
                made[each.name] = msgspec.convert(given, each.type)
    return struct(**made)


def _salvaged(content: bytes, is_record: Callable[[Object], bool]) -> tuple[list[Object], bool]:
    """Return the records in a damaged line, and True if the line has nothing else but blanks and NUL bytes."""
    import json  # Imported here because importing `json` takes 1 ms, and few lines are damaged.

    text = content.decode("utf-8", "replace")
    decode = json.JSONDecoder().raw_decode
    found: list[Object] = []
    end, left_out, budget = 0, False, _SALVAGE_BYTES
    at = _BEGINNING.search(text)
    while at is not None and budget > 0:
        start = at.start()
        try:
            value, after = decode(text, start)
        except (ValueError, RecursionError):
            value, after = None, start + 1
            budget -= len(text) - start
        if isinstance(value, dict) and is_record(value):
            left_out |= bool(text[end:start].strip(" \t\r\n\0"))
            found.append(value)
            end = after
        at = _BEGINNING.search(text, max(after, start + 1) if value is not None and found else start + 1)
    return found, not (left_out or text[end:].strip(" \t\r\n\0"))


# ---- values of entries ---------------------------------------------------------------------------------------


def text_of(value: Json) -> str:
    """Return the value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def object_of(value: Json) -> Object:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Json) -> list[Object]:
    """Return the objects in a list; an empty list for any other value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number_of(value: Json) -> int:
    """Return a number of tokens; 0 for any other value."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def moment_of(timestamp: Json) -> float | None:
    """Parse a time written as text; return milliseconds since 1970, None for any other value."""
    moment = parse_time(timestamp) if isinstance(timestamp, str) else None
    return moment if moment is not None and is_time(moment) else None


def plain(content: Json) -> str:
    """Return the text of a message's content, including the text of tool results in it."""
    if isinstance(content, str):
        return content
    blocks = objects_of(content)
    texts = [plain(one.get("content")) if one.get("type") == "tool_result" else one.get("text") for one in blocks]
    return "\n".join([text_of(text) for text in texts if text_of(text)])


def text_block(text: str) -> Object:
    """Return a text block of pi's format."""
    return {"type": "text", "text": text}


def blocks_of(content: Json) -> list[Object]:
    """Convert the content of a message or result, as Anthropic's or OpenAI's API defines it, to pi's blocks."""
    made: list[Object] = []
    for block in [text_block(content)] if isinstance(content, str) and content else objects_of(content):
        source, url = object_of(block.get("source")), _DATA_URL.fullmatch(text_of(block.get("image_url")))
        if url is not None:
            made.append({"type": "image", "data": url[2], "mimeType": url[1]})
        elif source.get("type") == "base64" and block.get("type") == "image":
            image, kind = text_of(source.get("data")), text_of(source.get("media_type"))
            made.append({"type": "image", "data": image, "mimeType": kind})
        elif block.get("type") == "tool_reference":
            made.append(text_block(f"[tool reference: {text_of(block.get('tool_name'))}]"))
        elif named := file_text(block)[0]:
            made.append(text_block(named))
        else:
            made.append(text_block(text_of(block["text"]) if "text" in block else as_text(block)))
    return made


def file_text(block: Object) -> tuple[str, bool]:
    """Return the text for a document, or for an image elsewhere, and True if it is only the file's name.

    pi has no blocks for them, and would send a document's data as text. For other blocks, the text is "".
    """
    kind, source = text_of(block.get("type")), object_of(block.get("source"))
    if kind not in FILES or not source or (kind, source.get("type")) == ("image", "base64"):
        return "", False
    text = text_of(source.get("data")) if source.get("type") == "text" else plain(source.get("content"))
    told = filter(None, map(text_of, (block.get("title"), source.get("media_type"), source.get("url"))))
    return text or f"[{kind}: {', '.join(told) or 'without a name'}]", not text


def as_text(value: Json) -> str:
    """Return the JSON text of a value whose kind is not known here, to show it instead of dropping it."""
    return as_bytes(value).decode()


def as_bytes(value: Json) -> bytes:
    """Return a value as JSON, with numbers as msgspec writes them; JavaScript's form takes three times as long."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return json_bytes(_decoded(value))


def _decoded(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return loads(bytes(value)) if isinstance(value, Raw) else value


def is_string(raw: Raw, least: int = 0) -> bool:
    """Return True if JSON is a string of at least `least` bytes."""
    return bytes(memoryview(raw)[:1]) == b'"' and len(memoryview(raw)) >= least + 2


_encode = msgspec.json.Encoder().encode
