"""Convert a session's Markdown to HTML: paragraphs, lists, tables, code; links, images and HTML tags stay text."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from sessionbrowse.services.export.safe_markdown import LARGEST_PARSED, safe_markdown

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


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
