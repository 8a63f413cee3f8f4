"""Convert a Markdown text to document parts, without losing a letter of it.

The library markdown-it splits the text into blocks (4 MB/s); the content of a block is parsed when it becomes visible.
A block whose layout would lose letters (an unusual link, a table with too many cells) is shown as Markdown source. HTML
tags and entities (`&amp;`) are shown unchanged; line ends are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessionbrowse.text import clean_lines
from sessionbrowse.tui.layout.highlight import code_parts, lexer_named
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part, text_parts, wrap_line
from sessionbrowse.tui.paint.spans import Line, line_width

LONGEST_MARKDOWN = 400_000
"""Maximum number of characters of a text that is parsed as Markdown; a longer text is shown as source."""

LONGEST_INLINE = 4_000
"""Maximum length of a paragraph parsed as Markdown, because parsing thousands of brackets would be slow."""

DEEPEST_PREFIX = 24
"""Maximum width in terminal cells of the quote bars and list indents at the start of a row."""

CODE_BAR = ("▏ ", "rule")
_QUOTE_BAR = ("▎ ", "rule")
_BULLETS = "•◦▪"
_NOT_WORD = re.compile(r"[\W_]+")
_FENCE = re.compile(r"(?:`{3,}|~{3,})(.*)")
_CHECKBOX = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}

_HEADING_ROLES = {"h1": "title underline", "h2": "title"}
_MARKS = {"strong_open": "strong", "em_open": "italic", "s_open": "strike", "link_open": "link"}


class _Parser(MarkdownIt):
    """A CommonMark parser that leaves link addresses unchanged, because they are displayed but never followed."""

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link

    def validateLink(self, url: str) -> bool:
        return True


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False})
    parser.enable(["table", "strikethrough"])
    # The parser's rules for entities (`&amp;`) and HTML tags are disabled, so that both are shown unchanged.
    parser.disable(["entity", "autolink", "html_block", "html_inline"])
    parser.core.ruler.disable(["inline", "text_join"], True)
    return parser


def letters(text: str) -> str:
    """Return only the letters and digits of a text; comparing them before and after a layout shows if any were lost."""
    return _NOT_WORD.sub("", text)


def markdown_parts(source: str, *, roles: str = "", prefix: Line | None = None) -> list[Part]:
    """Convert a Markdown text to document parts; a text that is too long or cannot be parsed is shown as source."""
    if len(source) > LONGEST_MARKDOWN:
        return text_parts(source, roles=roles, prefix=prefix)
    lines = clean_lines(source)
    try:
        tokens = _parser().parse("\n".join(lines))
    except Exception:
        # The Markdown parser raises errors on some unusual texts; such a text is then shown as source.
        return text_parts(source, roles=roles, prefix=prefix)
    return _Layout(lines, roles, prefix or []).parts(tokens)


class _Layout:
    """Converts the parsed blocks of one Markdown text to document parts."""

    def __init__(self, lines: list[str], roles: str, prefix: Line) -> None:
        self._lines = lines
        self._roles = roles
        self._prefix = prefix
        self._parts: list[Part] = []
        # The row prefixes (bars and indents) of the quotes and list items around the current block. `_first` is for the
        # block's first row, where a list item has its bullet; `_rest` is for its other rows.
        self._rest: list[tuple[str, str]] = []
        self._first: list[tuple[str, str]] = []
        self._last_rest: list[tuple[str, str]] = []
        self._lists: list[bool] = []
        self._seen = 0

    def parts(self, tokens: Sequence[Token]) -> list[Part]:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            match token.type:
                case "blockquote_open":
                    self._open(_QUOTE_BAR, _QUOTE_BAR)
                case "bullet_list_open" | "ordered_list_open":
                    self._lists.append(token.type == "ordered_list_open")
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._open_item(token)
                case "blockquote_close" | "list_item_close":
                    self._close()
                case "heading_open":
                    self._leaf(token, tokens[position + 1].content, _HEADING_ROLES.get(token.tag, "strong"))
                case "paragraph_open":
                    self._leaf(token, tokens[position + 1].content, "")
                case "fence" | "code_block":
                    self._code(token)
                case "hr":
                    self._catch_up(token)
                    self._parts.append(_ruled(self._before()[0]))
                case "table_open":
                    position = self._table(tokens, position)
            position += 1
        self._show_missed(len(self._lines))
        return self._parts

    # -- quotes and list items, which contain blocks ------------------------------------------------------------

    def _open(self, first: tuple[str, str], rest: tuple[str, str]) -> None:
        self._first.append(first)
        self._rest.append(rest)

    def _open_item(self, token: Token) -> None:
        ordered = bool(self._lists) and self._lists[-1]
        depth = sum([not is_ordered for is_ordered in self._lists]) - 1
        sign = f"{token.info}{token.markup} " if ordered else f"{_BULLETS[min(depth, 2)]} "
        self._open((sign, "accent"), (" " * len(sign), ""))

    def _close(self) -> None:
        self._first.pop()
        self._rest.pop()

    def _before(self) -> tuple[Line, Line]:
        """Return the prefix (quote bars, indents, a bullet) of a block's first row, and that of the block's other rows.

        The bullet of a list item is used only once.
        """
        first: Line = [*self._prefix, *_clipped(self._first)]
        rest: Line = [*self._prefix, *_clipped(self._rest)]
        self._first = list(self._rest)
        self._last_rest = list(self._rest)
        return first, rest

    # -- blocks -------------------------------------------------------------------------------------------------

    def _catch_up(self, token: Token) -> None:
        start, end = token.map or (self._seen, self._seen)
        self._show_missed(start)
        self._seen = max(self._seen, end)

    def _show_missed(self, start: int) -> None:
        """Add parts for source lines before line `start` that belong to no block: empty lines and link definitions."""
        missed = self._lines[self._seen : start]
        words = [line for line in missed if letters(line)]
        if len(missed) > len(words) and self._parts and start < len(self._lines):
            # An empty line between two blocks gets the bars and indents of the quotes and lists that contain both.
            shared = [piece for piece, before in zip(self._rest, self._last_rest, strict=False) if piece == before]
            self._parts.append(LinePart([*self._prefix, *_clipped(shared)]))
        if words:
            self._parts += text_parts("\n".join(words), roles="dim", prefix=self._prefix)
        self._seen = max(self._seen, start)

    def _leaf(self, token: Token, content: str, look: str) -> None:
        self._catch_up(token)
        first, rest = self._before()
        roles = f"{self._roles} {look}".strip()
        if len(content) > LONGEST_INLINE:
            self._parts += _as_written(content, roles, first, rest)
            return
        mark = "#" * int(token.tag[1]) + " " if token.tag in ("h3", "h4", "h5", "h6") else ""
        self._parts.append(ProsePart(content, roles, [*first, (mark, "faint")] if mark else first, rest))

    def _code(self, token: Token) -> None:
        self._catch_up(token)
        first, rest = self._before()
        language = token.info.strip()
        bar: Line = [*rest, CODE_BAR]
        # The label of a code block is taken from its source line, because the parser removes backslashes from
        # `token.info`.
        fence = _FENCE.search(self._lines[token.map[0]]) if token.map and language else None
        label = fence[1].strip() if fence is not None else ""
        if label or first != rest:
            self._parts.append(LinePart([*first, CODE_BAR, (label, "faint")]))
        content = token.content.removesuffix("\n")
        words = language.split()
        self._parts += code_parts(content, lexer_named(words[0].lower()) if words else None, prefix=bar)

    def _table(self, tokens: Sequence[Token], position: int) -> int:
        token = tokens[position]
        end = position
        rows: list[list[str]] = []
        sides: list[str] = []
        while tokens[end].type != "table_close":
            match tokens[end].type:
                case "tr_open":
                    rows.append([])
                case "inline":
                    rows[-1].append(tokens[end].content)
                    if len(rows) == 1:
                        style = str(tokens[end - 1].attrs.get("style", ""))
                        sides.append(style.removeprefix("text-align:"))
            end += 1
        self._catch_up(token)
        first, rest = self._before()
        start, stop = token.map or (0, 0)
        written = "\n".join(self._lines[start:stop])
        cells = [_cells(row, self._roles) for row in rows]
        shown = "".join([text for line in [first, *[cell for row in cells for cell in row]] for text, _ in line])
        if letters(shown) == letters(written) and all(len(row) == len(sides) for row in cells):
            as_written = text_parts(written, roles=self._roles, prefix=self._prefix)
            self._parts.append(TablePart(cells, sides, as_written, first, rest))
        else:
            # The table is shown as Markdown source, whose lines contain the signs of the quotes and lists around it.
            self._parts += text_parts(written, roles=self._roles, prefix=self._prefix)
        return end


def _cells(row: list[str], roles: str) -> list[Line]:
    """Return the parsed cells of a table row, without cells that are too long to parse.

    If a cell is missing, the caller shows the table as Markdown source.
    """
    return [inline_lines(cell, roles)[0] for cell in row if len(cell) <= LONGEST_INLINE]


def _ruled(before: Line) -> Part:
    return FittedPart(lambda width: [*before, ("─" * max(0, width - line_width(before)), "rule")], "---")


def _clipped(pieces: Sequence[tuple[str, str]]) -> Line:
    """Return the bars and indents before a row, limited to about `DEEPEST_PREFIX` cells.

    The innermost bar or indent and the numbers of list items are always kept.
    """
    line: Line = []
    room = DEEPEST_PREFIX
    for number, piece in enumerate(pieces):
        if room <= 0 and number < len(pieces) - 1 and not letters(piece[0]):
            continue
        line.append(piece)
        room -= len(piece[0])
    return line


def _as_written(content: str, roles: str, first: Line, rest: Line) -> list[Part]:
    head, newline, others = content.partition("\n")
    if first == rest:
        return text_parts(content, roles=roles, prefix=rest)
    return [
        *text_parts(head, roles=roles, prefix=first),
        *(text_parts(others, roles=roles, prefix=rest) if newline else []),
    ]


class ProsePart:
    """A Markdown paragraph or heading; emphasis, links and code are parsed when the part becomes visible."""

    def __init__(self, content: str, roles: str, first: Line, rest: Line) -> None:
        self._content = content
        self._roles = roles
        self._first = first
        self._rest = rest

    def estimate(self, width: int) -> int:
        """Return the number of rows of the paragraph, estimated from the lengths of its lines."""
        room = max(1, width - line_width(self._rest))
        return sum([max(1, -(-len(line) // room)) for line in self._content.split("\n")])

    def rows(self, width: int) -> list[Line]:
        """Return the wrapped rows of the paragraph or heading."""
        rows: list[Line] = []
        before = self._first
        for line in inline_lines(self._content, self._roles):
            text = "".join([piece for piece, _ in line])
            indent = len(text) - len(text.lstrip(" "))
            room = max(8, width - line_width(before))
            for row in wrap_line(line, room, indent=min(indent, room // 2)):
                rows.append([*before, *row])
                before = self._rest
        return rows

    def plain(self) -> str:
        """Return the paragraph's Markdown source, for the clipboard."""
        return self._content


def inline_lines(content: str, roles: str = "") -> list[Line]:
    """Return a Markdown paragraph's lines with emphasis and links styled, or its source if a letter would be lost."""
    tokens: list[Token] = []
    written = content.split("\n")
    try:
        _parser().inline.parse(content, _parser(), {}, tokens)
        lines = _spans(tokens, roles)
    except Exception:
        # The Markdown parser raises errors on some unusual texts; the paragraph is then shown as source.
        return [[(line, roles)] for line in written]
    if letters("".join([text for line in lines for text, _ in line])) != letters(content):
        return [[(line, roles)] for line in written]
    if len(lines) == len(written):
        # The Markdown parser drops the indentation of lines. It is restored here, because users paste indented text.
        for line, source in zip(lines[1:], written[1:], strict=True):
            blanks = len(source) - len(source.lstrip(" "))
            if blanks:
                line.insert(0, (" " * blanks, roles))
    first, style = lines[0][0] if lines[0] else ("", "")
    if first[:4] in _CHECKBOX:
        lines[0][0] = (_CHECKBOX[first[:4]] + first[4:], style)
    return lines


def _spans(tokens: Sequence[Token], roles: str) -> list[Line]:
    lines: list[Line] = [[]]
    marks = [roles] if roles else []
    addresses: list[str] = []
    for token in tokens:
        now = " ".join(marks)
        match token.type:
            case "text":
                if token.content:
                    lines[-1].append((token.content, now))
            case "code_inline":
                lines[-1].append((token.content, f"{now} inline-code".strip()))
            case "softbreak" | "hardbreak":
                lines.append([])
            case "strong_open" | "em_open" | "s_open":
                marks.append(_MARKS[token.type])
            case "strong_close" | "em_close" | "s_close":
                marks.pop()
            case "link_open":
                marks.append(_MARKS[token.type])
                addresses.append(_address(token, "href"))
            case "link_close":
                marks.pop()
                lines[-1].append((addresses.pop(), " ".join([*marks, "dim"])))
            case "image":
                lines[-1] += [("▣ ", "accent"), (token.content, now), (_address(token, "src"), f"{now} dim".strip())]
            case _:
                lines[-1].append((token.content, now))
    return lines


def _address(token: Token, name: str) -> str:
    title = token.attrs.get("title")
    words = " ".join([str(part) for part in (token.attrs.get(name), f'"{title}"' if title else None) if part])
    return f" ({words})" if words else ""


NARROWEST = 5
"""Minimum width of a wrapped column in terminal cells; if a column would be narrower, Markdown source is shown."""

BETWEEN = (" │ ", "rule")
MOST_ROWS = 400
"""Maximum number of rows of a table; a larger table is shown as Markdown source, because measuring it is slow."""


class TablePart:
    """A Markdown table as a document part; the first row of `cells` is the heading."""

    def __init__(
        self, cells: Sequence[Sequence[Line]], sides: Sequence[str], written: Sequence[Part], first: Line, rest: Line
    ) -> None:
        self._cells = cells
        self._sides = sides
        self._written = written
        self._first = first
        self._rest = rest

    def estimate(self, width: int) -> int:
        """Return the number of rows of the table, estimated as if no row wraps."""
        return len(self._cells) + 1

    def rows(self, width: int) -> list[Line]:
        """Return the screen rows of the table; rows with its Markdown source if the columns do not fit the width."""
        widths = column_widths(self._cells, width - line_width(self._rest)) if len(self._cells) <= MOST_ROWS else None
        before = self._first
        if widths is None:
            return [row for part in self._written for row in part.rows(width)]
        rows: list[Line] = []
        for number, cells in enumerate(self._cells):
            for line in _table_row(cells, widths, self._sides, heading=number == 0):
                rows.append([*before, *line])
                before = self._rest
            if number == 0:
                rows.append([*before, ("─┼─".join(["─" * cells for cells in widths]), "rule")])
        return rows

    def plain(self) -> str:
        """Return the table's Markdown source, for the clipboard."""
        return "\n".join([part.plain() for part in self._written])


def column_widths(cells: Sequence[Sequence[Line]], width: int) -> list[int] | None:
    """Return the width of each table column: its content's width or a fair share; None if a share is too narrow."""
    needed = [max(1, *[line_width(cell) for cell in column]) for column in zip(*cells, strict=True)]
    room = width - len(BETWEEN[0]) * (len(needed) - 1)
    given = [0] * len(needed)
    waiting = sorted(range(len(needed)), key=lambda column: needed[column])
    # Columns with narrow content get their full width first; wide columns share the remaining width.
    while waiting:
        column = waiting.pop(0)
        given[column] = min(needed[column], room // (len(waiting) + 1))
        if given[column] < min(NARROWEST, needed[column]):
            return None
        room -= given[column]
    return given


def _table_row(cells: Sequence[Line], widths: Sequence[int], sides: Sequence[str], *, heading: bool) -> list[Line]:
    look = "strong" if heading else ""
    wrapped = [
        wrap_line([(text, f"{roles} {look}".strip()) for text, roles in cell], width)
        for cell, width in zip(cells, widths, strict=True)
    ]
    rows: list[Line] = []
    empty: Line = []
    for pieces in zip_longest(*wrapped, fillvalue=empty):
        row: Line = []
        for number, (piece, width, side) in enumerate(zip(pieces, widths, sides, strict=True)):
            missing = max(0, width - line_width(piece))
            left = missing if side == "right" else missing // 2 if side == "center" else 0
            row += [*([BETWEEN] if number else []), (" " * left, ""), *piece, (" " * (missing - left), "")]
        rows.append(row)
    return rows
