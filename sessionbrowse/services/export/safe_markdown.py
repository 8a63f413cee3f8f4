"""Make a session's Markdown safe for an export: nothing in it runs, loads a resource, or affects other messages.

Messages are Markdown already. They are kept as they are if the parser shows that they are harmless.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sessionbrowse.text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LARGEST_PARSED = 128 * 1024
"""Maximum number of characters of a text that is kept as Markdown; a longer one with markup is shown as plain text."""
MOST_BRACKETS = 4000
"""Maximum number of `[` in such a text, because the parser's time grows with the square of this number."""
_MOST_PASSES = 6
_HIGHEST_HEADING = 3
"""Level of the highest heading in a message: the page has one of level 1, and each entry one of level 2."""

_HAS_MARKUP = re.compile(r"[<`#]|~~~|!\[|\]\(|\]:|\[\^|^[ >]*(?:=+|-+) *$|^ {4}", re.MULTILINE)
_SAFE_LINK = re.compile(r"(?:https?|mailto|ftp):|[^:]*(?:[/?#]|\Z)", re.IGNORECASE)
_TICKS = re.compile("`+")
_TAG = re.compile("[A-Za-z/!?]")
_PUNCTUATION = frozenset(string.punctuation)
_NO_HEADING = re.compile(r"^([ >]*)(#+)(?=[^# ])")


def escaped(text: str) -> str:
    """Return a text as one line of Markdown that shows the text itself."""
    marked = re.sub(r"[\\`*_\[\]#~!|]", r"\\\g<0>", clean(text))
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code_span(text: str) -> str:
    """Return a text as an inline code span."""
    text = clean(text)
    ticks = _fence(text, "`")
    blank = " " if text[:1] in " `" or text[-1:] in " `" else ""
    return f"{ticks}{blank}{text}{blank}{ticks}" if text else ""


def code_block(text: str, language: str = "") -> str:
    """Return a text as a fenced code block, with a fence that no line of the text can close."""
    fence = _fence(text, "```")
    return f"{fence}{language}\n{text}\n{fence}"


def quoted(text: str) -> str:
    """Return Markdown as a block quote."""
    return "\n".join([f"> {line}".rstrip() for line in text.split("\n")])


def safe_markdown(text: str) -> str:
    """Return a message's Markdown without HTML, images and links to programs; code blocks left open are closed.

    Its headings are lower than those of the page. A text that cannot be made safe becomes a block of code.
    """
    if _HAS_MARKUP.search(text) is None:
        return text
    made = text
    if len(text) <= LARGEST_PARSED and text.count("[") <= MOST_BRACKETS:
        for number in range(_MOST_PASSES):
            before = made
            # The first pass parses without links and images, and escapes all images, because the parser is slow with
            # many.
            env: dict[str, object] = {}
            tokens = _parser(with_links=number > 0).parse(before, env)
            made = _Pass(before, tokens, bool(env.get("references")), is_first=not number).result()
            if made == before and number:
                kinds = {token.type for token in _with_children(tokens)}
                if not kinds & {"html_block", "html_inline", "image"}:
                    return made
                break
    return code_block(text)


class _Pass:
    """A pass over a text, which escapes each unsafe construct. The caller repeats passes until one finds none.

    `definitions` is True if the text defines link targets (`[name]: url`), which would apply to other messages too.
    """

    def __init__(self, text: str, tokens: list[Token], definitions: bool, *, is_first: bool) -> None:
        self._lines = text.split("\n")
        self._tokens = tokens
        self._definitions = definitions
        self._is_first = is_first
        self._done = [False] * len(self._lines)

    def result(self) -> str:
        """Return the text after the pass."""
        ends: list[str] = []
        for number, token in enumerate(self._tokens):
            if token.map is None:
                continue
            begin, end = token.map
            if token.type in ("fence", "code_block"):
                self._done[begin:end] = [True] * (end - begin)
                if token.type == "fence":
                    ends += self._fence(token, begin, end)
            elif token.type == "heading_open":
                self._heading(token, self._tokens[number + 1], begin, end)
            elif token.type == "inline" and not any(self._done[begin:end]):
                self._inline(begin, end, links=not _has_unsafe_link(token))
        for number, line in enumerate(self._lines):
            if not self._done[number]:
                self._lines[number] = _defused(line, code=False, links=not self._definitions)
        return "\n".join([*self._lines, *ends])

    def _inline(self, begin: int, end: int, *, links: bool) -> None:
        lines = _defused("\n".join(self._lines[begin:end]), code=True, links=links).split("\n")
        self._lines[begin:end] = [_NO_HEADING.sub(r"\1\\\2", line) for line in lines]
        self._done[begin:end] = [True] * (end - begin)

    def _heading(self, token: Token, inline: Token, begin: int, end: int) -> None:
        level = int(token.tag[1:])
        wanted = min(6, level + _HIGHEST_HEADING - 1) if self._is_first else max(level, _HIGHEST_HEADING)
        if token.markup.startswith("#"):
            self._inline(begin, end, links=not _has_unsafe_link(inline))
            self._lines[begin] = self._lines[begin].replace(token.markup, "#" * wanted, 1)
            return
        # The line of `=` or `-` below the heading is removed; a heading of several lines becomes a paragraph.
        bare = self._lines[end - 1].rstrip(" ").rstrip("=-")
        self._lines[end - 1] = bare.rstrip(" ")
        self._done[end - 1] = True
        first = inline.content.split("\n")[0]
        if end - begin == 2 and first in self._lines[begin]:
            before, _, after = self._lines[begin].rpartition(first)
            self._lines[begin] = f"{before}{'#' * wanted} {first}{after}"

    def _fence(self, token: Token, begin: int, end: int) -> list[str]:
        """Clean the name of the block's language; return the line that closes a block left open at the text's end."""
        prefix, _, named = self._lines[begin].partition(token.markup)
        self._lines[begin] = prefix + token.markup + re.sub("[{}<>=]", "", named)
        last = self._lines[end - 1].lstrip(" >").rstrip()
        mark = token.markup[0]
        if end - begin > 1 and len(last) >= len(token.markup) and not last.strip(mark):
            return []
        is_last = not any(line.strip() for line in self._lines[end:])
        return [re.sub("[^> ]", " ", prefix) + token.markup] if is_last else []


def _defused(text: str, *, code: bool, links: bool) -> str:
    """Return the lines of one block without HTML and images; if `links` is False, also without links.

    If `code` is True, code spans are kept, except those that contain `|`, because a table would split them there.
    """
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text) if code else ():
        runs.setdefault(len(run[0]), []).append(run.start())
    pieces: list[str] = []
    at = 0
    while at < len(text):
        character, size = text[at], 1
        after = text[at + 1 : at + 2]
        if character == "\\" and after in _PUNCTUATION:
            size = 2
        elif character == "`" and code:
            size = len(_TICKS.match(text, at)[0])  # type: ignore[index]
            # An escaped backtick before the run is not part of it.
            others = runs.get(size, [])
            closing = bisect_right(others, at)
            if closing < len(others) and text.find("|", at, others[closing]) < 0:
                size = others[closing] + size - at
        elif character == "<" and _TAG.match(after):
            pieces.append("&lt;")
            at += 1
            continue
        elif (character == "!" and after == "[") or (character == "[" and (after == "^" or not links)):
            pieces.append("\\")
        pieces.append(text[at : at + size])
        at += size
    return "".join(pieces)


def _has_unsafe_link(inline: Token) -> bool:
    hrefs = [str(child.attrs.get("href", "")) for child in inline.children or () if child.type == "link_open"]
    return any(_SAFE_LINK.match(href) is None for href in hrefs)


@lru_cache(maxsize=2)
def _parser(*, with_links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # Imported here because only this export needs it.

    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
    # Links that the parser would refuse are seen here, because other viewers of Markdown do not refuse them.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser if with_links else parser.disable("inline")


def _with_children(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _fence(text: str, shortest: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    return "`" * max(len(shortest), longest + 1)
