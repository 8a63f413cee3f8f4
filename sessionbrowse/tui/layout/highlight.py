"""Syntax colours of code and JSON: Pygments splits code into tokens, from its first line down to the visible lines.

After a jump far down, Pygments begins at the visible lines, to be fast; a string that began above may then have the
wrong colour. Long texts and texts with very long lines have no colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Token
from pygments.util import ClassNotFound

from sessionbrowse.text import clean_lines
from sessionbrowse.tui.layout.parts import Part, text_parts, wrap_line
from sessionbrowse.tui.paint.spans import Line, line_width

LONGEST_CODE = 200_000
"""Maximum number of characters of a code block that gets syntax colours; a longer block has one colour."""

LONGEST_LINE = 1_000
"""A code block with a line of more characters than this has no syntax colours."""

FARTHEST_JUMP = 300
"""If more uncoloured lines than this are above the visible lines, Pygments begins at the first visible line."""

LINES_OF_A_PART = 24
LONGEST_LANGUAGE = 40

_ROLES: dict[Any, str] = {
    Token.Keyword: "keyword",
    Token.Name.Function: "name",
    Token.Name.Class: "name",
    Token.Name.Tag: "name",
    Token.Name.Attribute: "name",
    Token.Name.Decorator: "name",
    Token.Name.Builtin: "name",
    Token.Name.Variable: "name",
    Token.Literal.String: "string",
    Token.Literal.Number: "number",
    Token.Comment: "dim italic",
    Token.Generic.Inserted: "good",
    Token.Generic.Deleted: "error",
    Token.Generic.Heading: "strong",
    Token.Generic.Subheading: "accent",
    Token.Generic.Strong: "strong",
    Token.Generic.Emph: "italic",
    Token.Error: "",
    Token: "",
}


def code_parts(source: str, lexer: Lexer | None, *, prefix: Line | None = None) -> list[Part]:
    """Return a code block as document parts; without syntax colours if `lexer` is None or the code is too long."""
    if len(source) > LONGEST_CODE:
        return text_parts(source, prefix=prefix)
    lines = clean_lines(source)
    if lexer is None or any(len(line) > LONGEST_LINE for line in lines):
        return text_parts(source, roles="code" if lexer is None else "", prefix=prefix)
    code = Code(lines, lexer)
    return [
        CodePart(code, first, min(first + LINES_OF_A_PART, len(lines)), prefix or [])
        for first in range(0, len(lines), LINES_OF_A_PART)
    ]


@lru_cache(maxsize=64)
def lexer_named(language: str) -> Lexer | None:
    """Return the Pygments lexer for the language named after the ``` of a Markdown code block; None if unknown."""
    if not language or len(language) > LONGEST_LANGUAGE:
        return None
    try:
        return _made(find_lexer_class_by_name(language))
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def lexer_for_path(path: str) -> Lexer | None:
    """Return the Pygments lexer for a path, by the file's name; None if there is none."""
    name = path.rsplit("/", 1)[-1]
    found = find_lexer_class_for_filename(name) if 0 < len(name) <= 4 * LONGEST_LANGUAGE else None
    return _made(found) if found is not None else None


def _made(kind: type[Lexer]) -> Lexer | None:
    # Pygments' lexer for plain text gives no colours, so running it would only waste time.
    return kind(stripnl=False, ensurenl=False) if kind.name != "Text only" else None


class Code:
    """The lines of a code block, with the colours of those lines that Pygments has split into tokens so far."""

    def __init__(self, lines: list[str], lexer: Lexer) -> None:
        self.lines = lines
        self._lexer = lexer
        self._ready: list[Line] = []
        self._stream = self._lex(0, len(lines))

    def spans(self, first: int, end: int) -> list[Line]:
        """Return the lines from `first` up to, but not including, `end`, each as coloured pieces of text (spans)."""
        if first - len(self._ready) > FARTHEST_JUMP:
            return list(self._lex(first, end))
        while len(self._ready) < end:
            self._ready.append(next(self._stream))
        return self._ready[first:end]

    def _lex(self, first: int, end: int) -> Iterator[Line]:
        """Yield each line as coloured pieces of text (spans); after an error of the lexer, without colours."""
        made = 0
        try:
            for line in self._token_lines("\n".join(self.lines[first:end])):
                yield line
                made += 1
        except Exception:
            # Pygments lexers may raise any error on unusual input; the rest of the code is then shown without colours.
            made = min(made, end - first)
        for text in self.lines[first + made : end]:
            yield [(text, "")]

    def _token_lines(self, source: str) -> Iterator[Line]:
        line: Line = []
        for _, kind, value in self._lexer.get_tokens_unprocessed(source):
            roles = _role_of(kind)
            head, *others = value.split("\n")
            if head:
                line.append((head, roles))
            for other in others:
                yield line
                line = [(other, roles)] if other else []
        yield line


@cache
def _role_of(kind: Any) -> str:
    """Return the role (style name) for a Pygments token type, or for its nearest ancestor type that has a role."""
    return next(_ROLES[above] for above in reversed(kind.split()) if above in _ROLES)


class CodePart:
    """A document part that shows some lines of a code block, in syntax colours."""

    def __init__(self, code: Code, first: int, end: int, prefix: Line) -> None:
        self._code = code
        self._first = first
        self._end = end
        self._prefix = prefix

    def estimate(self, width: int) -> int:
        """Return the number of rows of the code, estimated from the lengths of its lines."""
        room = max(1, width - line_width(self._prefix))
        return sum([max(1, -(-len(line) // room)) for line in self._code.lines[self._first : self._end]])

    def rows(self, width: int) -> list[Line]:
        """Return the coloured, wrapped rows; rows after a line's first row are indented a little more than the line."""
        room = max(1, width - line_width(self._prefix))
        lines = self._code.lines[self._first : self._end]
        rows: list[Line] = []
        for text, spans in zip(lines, self._code.spans(self._first, self._end), strict=True):
            indent = min(len(text) - len(text.lstrip()) + 2, room // 2)
            rows += [[*self._prefix, *row] for row in wrap_line(spans, room, indent=indent)]
        return rows

    def plain(self) -> str:
        """Return the lines of code as text, for the clipboard."""
        return "\n".join(self._code.lines[self._first : self._end])


_JSON_PIECES = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=:))|(?P<string>"(?:[^"\\]|\\.)*"?)|(?P<number>-?\d[\d.eE+-]*(?=,?\s*$))'
    r"|(?P<keyword>(?:true|false|null)(?=,?\s*$))|(?P<dim>[\s{}\[\],:]+)|.+"
)
"""The pieces of a line of indented JSON; the name of a group is the role in which its text is shown."""


def style_json(line: str) -> Line:
    """Return one line of indented JSON as coloured pieces of text (spans)."""
    return [(piece[0], piece.lastgroup or "string") for piece in _JSON_PIECES.finditer(line)]
