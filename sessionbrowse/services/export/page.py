"""Build an HTML page of a session in one file: tree, entries, search field, folded parts, images.

Text from the session is escaped; of its Markdown, links, images and HTML tags stay text. The page's
Content-Security-Policy forbids all requests, and allows only the script in this module, identified by its hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sessionbrowse.services.export.parts import CHANGE_TYPES, PrintedPart
from sessionbrowse.services.export.safe_markdown import LARGEST_PARSED, safe_markdown

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LONG_LINES = 12
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_INDENTS = 12


class PageEntry(Struct, frozen=True):
    """One entry on the HTML page: its level in the tree, text of its tree row (or ""), heading, time and parts."""

    level: int
    row: str
    heading: str
    time: str
    label: str | None
    is_active: bool
    role: str
    parts: tuple[PrintedPart, ...]


def page(title: str, about: str, entries: Iterable[PageEntry]) -> Iterator[bytes]:
    """Yield the HTML page of a session in pieces; `about` is a line of text below the page's title."""
    style, script = ["\n" + Path(__file__).with_name(name).read_text("utf-8") for name in ("page.css", "page.js")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    policy += "; base-uri 'none'; form-action 'none'"
    name = _text(title)
    articles: list[str] = []
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{name}</title><style>{style}</style></head><body><nav><h1>{name}</h1>"
        f'<div class="about">{_text(about)}</div><input id="search" type="search" placeholder="Search" '
        'aria-label="Search"><span id="count" class="about"></span> <button id="folds">Folds</button> '
        '<button id="theme">Dark or light</button>'
    ).encode()
    for number, entry in enumerate(entries):
        label = f"<b>[{_text(entry.label)}]</b> " if entry.label else ""
        state = "" if entry.is_active else " away"
        level = min(max(entry.level, 0), _INDENTS)
        if entry.row:
            row = f'<a class="l{level}{state}" href="#e{number}">{label}{_text(entry.row)}</a>\n'
            yield row.encode("utf-8", "replace")
        articles.append(_article(number, entry))
    yield b"</nav><main>"
    for article in articles:
        yield article.encode("utf-8", "replace")
    yield f"</main><script>{script}</script></body></html>\n".encode()


def _article(number: int, entry: PageEntry) -> str:
    label = f" <b>[{_text(entry.label)}]</b>" if entry.label else ""
    role = entry.role if entry.role.isalpha() and entry.role.isascii() else ""
    left = "" if entry.is_active else " · abandoned"
    head = f"<h2>{_text(entry.heading)}{label}{left} <time>{_text(entry.time)}</time></h2>"
    parts = "".join(map(_part, entry.parts))
    if entry.role in CHANGE_TYPES:
        folded = f"<details><summary>{head}</summary>{parts}</details>"
        return f'<article id="e{number}" class="change">{folded}</article>\n'
    away = "" if entry.is_active else " away"
    return f'<article id="e{number}" class="{role}{away}">{head}{parts}</article>\n'


def _part(part: PrintedPart) -> str:
    match part.kind:
        case "text":
            return rendered(part.text)
        case "call" if not part.text:
            return f'<div class="call">{_text(part.title)}</div>'
        case "image":
            return _image(part)
        case "note":
            return f'<div class="about">{_text(part.title)}: {_text(part.text)}</div>'
        case "diff":
            return _folded(part.title, "\n".join(map(_diff_line, part.text.split("\n"))), is_open=True)
        case "edit":
            return _folded(part.title, "\n".join(map(_diff_line, part.text.split("\n"))), is_open=False)
        case "thinking":
            return _folded(part.title, _text(part.text), is_open=False)
        case _:
            is_open = part.text.count("\n") < _LONG_LINES
            return _folded(part.title, _text(part.text), is_open=is_open)


def _folded(title: str, content: str, *, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{_text(title)}</summary><pre>{content}</pre></details>"


def _diff_line(line: str) -> str:
    kind = "add" if line.startswith("+") else "cut" if line.startswith("-") else ""
    return f'<span class="{kind}">{_text(line)}</span>' if kind else _text(line)


def _image(part: PrintedPart) -> str:
    """Return the HTML of an image, or a note if its data is missing or its type, such as SVG, may contain a script."""
    if part.title in _IMAGE_TYPES and part.text and _BASE64.fullmatch(part.text):
        try:
            base64.b64decode(part.text[:64] + "=" * (-len(part.text[:64]) % 4))
        except binascii.Error:
            return '<div class="about">an image that cannot be read</div>'
        return f'<p><img alt="image" loading="lazy" src="data:{part.title};base64,{part.text}"></p>'
    return f'<div class="about">an image that is not shown on this page ({_text(part.title)})</div>'


def _text(text: str) -> str:
    return escape(text, quote=True)


def rendered(text: str) -> str:
    """Return a message's Markdown as HTML; a text that is too large to be parsed is returned as plain text."""
    if len(text) > LARGEST_PARSED:
        return f'<div class="text">{escape(text)}</div>'
    return f'<div class="md">{_parser().render(safe_markdown(text))}</div>'


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # Imported here because only this export needs it.

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 100}).enable("table")
    # With every link invalid, the parser leaves the source text of links and images as it is.
    parser.validateLink = lambda url: False  # type: ignore[method-assign]
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _without_style)
    return parser


def _code(self: Any, tokens: Any, position: int, options: Any, env: Any) -> str:
    """Return a code block as HTML, without a `class` attribute for the language: no session text in attributes."""
    return f"<pre><code>{escape(tokens[position].content)}</code></pre>\n"


def _without_style(self: Any, tokens: Any, position: int, options: Any, env: Any) -> str:
    return f"<{tokens[position].tag}>"
