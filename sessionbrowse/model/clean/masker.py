"""Mask secrets in the lines of a session, also where a secret is JSON-escaped, URL-quoted or base64-encoded.

A changed text loses the provider's signature, and base64 data that contains a secret is replaced as a whole.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from msgspec import Struct

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.format.json_value import Json, json_bytes, json_line, json_object, loads
from sessionbrowse.format.splice import Path, edited
from sessionbrowse.model.clean.blocks import medium, short_call_id

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_THINKING = frozenset({"thinking", "redactedThinking"})
_UNREADABLE = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_LINKS = frozenset(
    {"type", "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "providerReplayThroughEntryId", "timestamp"}
)
_WORDS_OF_THE_FORMAT = frozenset(
    {"type", "role", "toolName", "provider", "model", "modelId", "api", "stopReason", "customType", "mimeType"}
)
_FREE = frozenset({"arguments", "details", "data", "nestedCalls", "preserveData", "jsonlEvents", "meta", "input"})
"""JSON keys under which tools and extensions store data of their own; in such data, key names are masked too."""
_GONE = "[reasoning removed]"


class Mask(Struct, frozen=True):
    """A secret and the text that replaces it.

    With `is_word`, the secret is masked only if no ASCII letter or digit directly precedes or follows it.
    """

    kind: str
    secret: str
    text: str
    is_word: bool = False


class MaskedLine(Struct, frozen=True):
    """A line with its secrets masked.

    `lost_reasoning` is True if reasoning lost its signature or was removed. Then the ids of tool calls in the line have
    lost the part that refers to this reasoning.
    """

    line: bytes
    lost_reasoning: bool = False


class Masker:
    """Replaces secrets in texts and lines by their masks, longer secrets first."""

    def __init__(self, masks: Iterable[Mask]) -> None:
        self.masks = tuple(masks)
        self._texts: dict[str, str] = {}
        for mask in self.masks:
            if not mask.is_word:
                for form in _forms(mask.secret):
                    self._texts.setdefault(form, mask.text)
        self._words = {mask.secret: mask.text for mask in self.masks if mask.is_word}
        self._secret = _any_of(self._texts, "{}")
        self._word = _any_of(self._words, r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])")
        self._longest = max(map(len, self._texts), default=1)

    def text(self, text: str, *, words: bool = True) -> str:
        """Return a text with every secret masked; if `words` is False, secrets with `is_word` stay as they are."""
        text = self._secret.sub(lambda found: self._texts[found[0]], text)
        if self._texts:
            text = _BASE64.sub(self._payload, text)
        return self._word.sub(lambda found: self._words[found[0]], text) if words else text

    def line(self, line: bytes) -> MaskedLine:
        """Return a line with every secret masked; a line that is no JSON object becomes empty.

        Raises:
            RefusedWrite: the line contains a secret where it cannot be masked, such as in an entry id.
        """
        bare = line.strip(b" \t\r\n\xef\xbb\xbf")
        value = json_object(bare)
        if value is None:
            return MaskedLine(b"" if bare else line)
        edits, lost = self._edits(value)
        new = edited(line, edits)
        raw = new.decode("utf-8", "surrogateescape")
        if self.text(raw, words=False) != raw or self._has_secret_key(value):
            # A secret is left in a key name, under a repeated key or in an unusual escape. Changes of single values do
            # not reach these places, so the whole line is written anew.
            new = json_line(self._whole(loads(new.strip(b" \t\r\n\xef\xbb\xbf"))))
            raw = new.decode("utf-8", "surrogateescape")
            if self.text(raw, words=False) != raw:
                raise RefusedWrite(
                    "The session has a secret in a place where it cannot be masked. Nothing was written."
                )
        return MaskedLine(new, lost)

    def _payload(self, found: re.Match[str]) -> str:
        content = unpacked(found[0])
        inner = self._secret.search(content) if content is not None else None
        return self._texts[inner[0]] if inner is not None else found[0]

    def _edits(self, value: dict[str, Json]) -> tuple[dict[Path, bytes | None], bool]:
        texts = list(strings(value))
        changed: dict[Path, str] = {}
        for path, text in texts:
            if _is_link(path):
                continue
            masked = self.text(text, words=not _is_word_of_the_format(path))
            if masked != text:
                changed[path] = masked
        for (first, before), (second, after) in neighbours(texts):
            joined = self._across(changed.get(first, before), changed.get(second, after))
            if joined is not None:
                changed[first], changed[second] = joined
        edits: dict[Path, bytes | None] = {}
        for path, text in changed.items():
            block = path[: -2 if path[-2:] == ("source", "data") else -1]
            replaced = medium(_at(value, block)) if path[-1] == "data" else None
            if replaced is not None:
                edits[block] = json_bytes({"type": "text", "text": replaced})
            elif str(path[-1]).endswith("ignature"):
                edits[path] = None
            else:
                edits[path] = json_bytes(text)
        lost = self._unsigned(value, edits)
        return edits, lost

    def _across(self, before: str, after: str) -> tuple[str, str] | None:
        """Mask a secret that begins in the text `before` and ends in the next text `after`; return both new texts.

        Return None if there is no such secret.
        """
        tail, head = before[-self._longest :], after[: self._longest]
        for found in self._secret.finditer(tail + head):
            if found.start() < len(tail) < found.end():
                kept = len(before) - len(tail) + found.start()
                return before[:kept] + self._texts[found[0]], after[found.end() - len(tail) :]
        return None

    def _unsigned(self, value: dict[str, Json], edits: dict[Path, bytes | None]) -> bool:
        """Add to `edits` the removal of the provider's signature from changed blocks of an assistant message.

        Return True if reasoning lost its signature or was removed.
        """
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list) or value["message"].get("role") != "assistant":
            return False
        changed = {path[:3] for path in edits}
        lost = False
        for at, block in enumerate(content):
            if not isinstance(block, dict) or block.get("type") not in _THINKING:
                continue
            here: Path = ("message", "content", at)
            signature = block.get("thinkingSignature")
            if block.get("redacted") or block.get("type") == "redactedThinking":
                # Encrypted reasoning may contain a secret, and nobody can check that, so it is removed.
                edits[here] = None if len(content) > 1 else json_bytes({"type": "text", "text": _GONE})
                lost = True
            elif "thinkingSignature" in block and (here in changed or not is_readable(signature)):
                edits[*here, "thinkingSignature"] = None
                lost = True
        for at, block in enumerate(content):
            here = ("message", "content", at)
            if not isinstance(block, dict) or not (lost or here in changed):
                continue
            for key in ("textSignature", "thoughtSignature"):
                if key in block:
                    edits[*here, key] = None
            call_id = block.get("id")
            if lost and isinstance(call_id, str) and short_call_id(call_id) != call_id:
                edits[*here, "id"] = json_bytes(self.text(short_call_id(call_id)))
        if len(content) > 1 and all(edits.get(("message", "content", at), b"") is None for at in range(len(content))):
            edits["message", "content", 0] = json_bytes({"type": "text", "text": _GONE})
        return lost

    def _has_secret_key(self, value: Json) -> bool:
        waiting: list[tuple[Json, bool]] = [(value, False)]
        while waiting:
            item, is_free = waiting.pop()
            if isinstance(item, dict):
                if is_free and any(self.text(key) != key for key in item):
                    return True
                waiting += [(one, is_free or key in _FREE) for key, one in item.items()]
            elif isinstance(item, list):
                waiting += [(one, is_free) for one in item]
        return False

    def _whole(self, value: Json) -> Json:
        """Return a JSON value with secrets masked in all strings, and in key names of tools' and extensions' data."""
        done: dict[str, Json] = {}
        waiting: list[tuple[Json, Json, Path, Json]] = [(done, "", (), value)]
        while waiting:
            holder, step, path, item = waiting.pop()
            made: Json = item
            if isinstance(item, dict):
                is_free = any(part in _FREE for part in path)
                keys = {key: self.text(key) if is_free else key for key in item}
                made = dict.fromkeys(keys.values())
                waiting += [(made, keys[key], (*path, key), one) for key, one in item.items()]
            elif isinstance(item, list):
                made = [None] * len(item)
                waiting += [(made, at, (*path, at), one) for at, one in enumerate(item)]
            elif isinstance(item, str) and not _is_link(path):
                made = self.text(item, words=not _is_word_of_the_format(path))
            holder[step] = made
        return done[""]


def strings(value: Json) -> Iterator[tuple[Path, str]]:
    """Yield each string in a JSON value with its path (keys and list positions), in document order."""
    waiting: list[tuple[Path, Json]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            waiting += [((*path, key), one) for key, one in reversed(item.items())]
        elif isinstance(item, list):
            waiting += [((*path, at), item[at]) for at in range(len(item) - 1, -1, -1)]
        elif isinstance(item, str):
            yield path, item


def neighbours(texts: list[tuple[Path, str]]) -> Iterator[tuple[tuple[Path, str], tuple[Path, str]]]:
    """Yield pairs of texts at the same key of two consecutive items in a list, such as the texts of two blocks."""
    last: dict[tuple[Path, Path], tuple[Path, str]] = {}
    for path, text in texts:
        at = next((number for number in range(len(path) - 1, -1, -1) if isinstance(path[number], int)), None)
        if at is None:
            continue
        place = path[:at], path[at + 1 :]
        if place in last:
            yield last[place], (path, text)
        last[place] = path, text


def unpacked(token: str) -> str | None:
    """Return the decoded content of base64 text, as UTF-8 if valid, else as Latin-1; None if it is no base64."""
    bare = token.rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) % 4 == 1:
        return None
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def is_readable(signature: Json) -> bool:
    """Return True if the signature of a reasoning block has no long encoded data, which could hide a secret."""
    return isinstance(signature, str) and _UNREADABLE.search(signature) is None


def _is_link(path: Path) -> bool:
    return len(path) == 1 and path[0] in _LINKS


def _is_word_of_the_format(path: Path) -> bool:
    """Return True if the string at a path is a fixed term of the format, such as a role or a tool's name."""
    if any(step in _FREE for step in path[:-1]):
        return False
    return path[-1] in _WORDS_OF_THE_FORMAT or (path[:2] == ("message", "content") and path[3:] == ("name",))


def _forms(secret: str) -> set[str]:
    """Return the forms in which a file may contain a secret: plain, JSON-escaped once or twice, URL-quoted, base64."""
    once = json_bytes(secret).decode()[1:-1]
    coded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    quoted = {secret, once, once.replace("/", "\\/"), json_bytes(once).decode()[1:-1]}
    if secret.isprintable() or secret.isspace() is False:
        plain = secret.encode("utf-8", "replace").decode()
        quoted |= {quote(plain, safe=""), quote(plain), quote_plus(plain)}
    coded_url = coded.replace("+", "-").replace("/", "_")
    return quoted | {coded, coded.rstrip("="), coded_url, coded_url.rstrip("=")}


def _any_of(texts: Iterable[str], around: str) -> re.Pattern[str]:
    words = sorted(texts, key=len, reverse=True)
    return re.compile(around.format("|".join(map(re.escape, words))) if words else r"(?!)")


def _at(value: Json, path: Path) -> dict[str, Json]:
    for step in path:
        value = value[step]
    return value if isinstance(value, dict) else {}
