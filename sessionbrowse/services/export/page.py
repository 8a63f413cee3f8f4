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


STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1d2025;--dim:#667;--line:#dde;--tint:#f4f5f8;--mark:#2563eb}
:root.dark{--back:#16181d;--text:#e4e6eb;--dim:#99a;--line:#333842;--tint:#1f232b;--mark:#7aa7ff}
@media(prefers-color-scheme:dark){:root:not(.light){--back:#16181d;--text:#e4e6eb;--dim:#99a;--line:#333842;
--tint:#1f232b;--mark:#7aa7ff}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;
display:grid;grid-template-columns:minmax(16rem,26rem) 1fr;height:100vh}
nav{overflow:auto;border-right:1px solid var(--line);padding:.75rem;font-size:13px}
main{overflow:auto;padding:1rem 1.5rem}h1{font-size:1.1rem;margin:.2rem 0}.about,time{color:var(--dim);font-size:12px}
nav a{display:block;color:inherit;text-decoration:none;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;
content-visibility:auto;contain-intrinsic-height:20px}
nav a:hover,nav a:focus{background:var(--tint)}nav a.away{color:var(--dim)}nav b{color:var(--mark);font-weight:600}
input,button{font:inherit;color:inherit;background:var(--tint);border:1px solid var(--line);border-radius:6px;
padding:.3rem .6rem}input{width:100%;margin:.5rem 0}
article{border-bottom:1px solid var(--line);padding:.6rem 0;content-visibility:auto;contain-intrinsic-height:120px}
article:target{outline:2px solid var(--mark);outline-offset:4px}h2{font-size:.9rem;margin:0}
.user h2{color:var(--mark)}pre,.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
pre{background:var(--tint);padding:.6rem;border-radius:6px;font:13px/1.45 ui-monospace,monospace}
summary{color:var(--dim);cursor:pointer}img{max-width:100%;max-height:70vh}[hidden]{display:none!important}
.add{color:#15803d}.cut{color:#dc2626}.call{font:13px/1.45 ui-monospace,monospace;color:var(--dim);margin:.3rem 0}
.md{overflow-wrap:anywhere}.md p,.md ul,.md ol,.md table,.md blockquote{margin:.5rem 0}.md code{background:var(--tint);
padding:.1rem .25rem;border-radius:4px;font:.88em ui-monospace,monospace}.md pre code{padding:0}
.md :is(h3,h4,h5,h6){font-size:1rem;margin:.8rem 0 .3rem}.md table{border-collapse:collapse}
.md :is(th,td){border:1px solid var(--line);padding:.2rem .5rem;text-align:left}
.md blockquote{border-left:3px solid var(--line);padding-left:.8rem;color:var(--dim)}
.change{padding:.15rem 0;font-size:12px}.change h2{display:inline;font-weight:400;font-size:12px;color:var(--dim)}
.toolResult h2,.away h2{color:var(--dim);font-weight:400}
.l0{padding-left:0}.l1{padding-left:12px}.l2{padding-left:24px}.l3{padding-left:36px}.l4{padding-left:48px}
.l5{padding-left:60px}.l6{padding-left:72px}.l7{padding-left:84px}.l8{padding-left:96px}.l9{padding-left:108px}
.l10{padding-left:120px}.l11{padding-left:132px}.l12{padding-left:144px}
@media(max-width:800px){body{display:block;height:auto}nav{max-height:40vh;border-right:0;
border-bottom:1px solid var(--line)}main{padding:1rem;overflow:visible}}
@media print{body{display:block;height:auto}nav{display:none}main{overflow:visible}article{content-visibility:visible}
pre{border:1px solid #ccc}}
"""

SCRIPT = """
const all=[...document.querySelectorAll("article")],rows=new Map();
for(const row of document.querySelectorAll("nav a"))rows.set(row.hash.slice(1),row);
const box=document.getElementById("search"),count=document.getElementById("count"),texts=[];
let timer=0;
function search(){const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);let found=0;
all.forEach((one,at)=>{let hit=true;if(words.length){texts[at]??=one.textContent.toLowerCase();
hit=words.every(word=>texts[at].includes(word))}
one.hidden=!hit;const row=rows.get(one.id);if(row)row.hidden=!hit;if(hit)found++});
count.textContent=words.length?found+" of "+all.length:""}
box.addEventListener("input",()=>{clearTimeout(timer);timer=setTimeout(search,120)});
document.getElementById("folds").addEventListener("click",()=>{const some=document.querySelector("details:not([open])");
for(const one of document.querySelectorAll("details"))one.open=!!some});
document.getElementById("theme").addEventListener("click",()=>{const root=document.documentElement;
const dark=root.classList.contains("dark")||(!root.classList.contains("light")&&
matchMedia("(prefers-color-scheme: dark)").matches);
root.classList.toggle("dark",!dark);root.classList.toggle("light",dark)});
addEventListener("beforeprint",()=>{for(const one of document.querySelectorAll("details"))one.open=true});
"""


def page(title: str, about: str, entries: Iterable[PageEntry]) -> Iterator[bytes]:
    """Yield the HTML page of a session in pieces; `about` is a line of text below the page's title."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    policy += "; base-uri 'none'; form-action 'none'"
    name = _text(title)
    articles: list[str] = []
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{name}</title><style>{STYLE}</style></head><body><nav><h1>{name}</h1>"
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
    yield f"</main><script>{SCRIPT}</script></body></html>\n".encode()


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
