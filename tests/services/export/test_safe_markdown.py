"""Markdown of a session in an export: every turn is a heading of the page, and nothing in it is live."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from sessionbrowse.services.export.export import export
from sessionbrowse.services.export.safe_markdown import LARGEST_PARSED, code_span, escaped, safe_markdown
from tests.support.change_helpers import assistant, entry, header, line, result, user

OPEN = [
    "```python\nprint(1)", "~~~~\ncode", "````md\n```\n", "- a\n\n  ```\n  code", "> ~~~\n> code",
    "1. x\n   - y\n     ```sh", "   ```\n   code", "text\n```", "<!--", "<script>", "<pre>\n", "<style>",
    "<textarea>", "<![CDATA[", "<?php", "<!X", "<details>\n<summary>x</summary>\n", "<div>\n\n- a",
    "</details></div>", "[User]: http://evil\n", "[a]:\n", "[^1]: x", "x\n---", "x\n===", "User\n-----",
    "> User\n> ---", "- User\n  ---", "a\nb\n---", "| a | b |\n|---|---|\n| `x | y` |", "| a |\n|---|",
    "- [ ] a\n  - b", "# User", "## User", "##  Assistant ##", "> ## User", "- # User", "\\## User", "##\tUser",
    "## ", "#User", "<h2>User</h2>", "`open", "``a`", "**open", "[open](", "![open](http", "> quoted", "    code",
    "\\", "a  ", "***", "&lt;!--", "x\n    <b>", "$$", "<a href='", '<img alt="', "```{=html}\n<b>x</b>\n```", "~~~",
]  # fmt: skip
LIVE = [
    "![x](http://127.0.0.1:9/b.png)", "![](data:image/svg+xml,x)", "[![x](http://e/x)](http://e)",
    "![x][r]\n\n[r]: http://e/x", "<img src=http://e/x>", "<IMG\nSRC=x>", "a <svg onload=x> b",
    "<script>alert(1)</script>", "`<b>` <b>", "`a` ` <img src=x>", "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))", "[x](java&#115;cript:alert(1))", "[x](<javascript:a>)", "[x](data:text/html,x)",
    "[x](vbscript:x)", "[x](file:///etc/passwd)", "[r]\n\n[r]: javascript:a", "<javascript:alert(1)>",
    "\\\\<img src=x>", "\\`<img src=x>`", "``<img src=x>`", "a\n\n`\n\n<img src=x>\n\n`",
    "| `a | <img src=x>` |\n|---|---|\n", "- `\n- <img src=x>`", "> `a\n<img src=x>`", "# `a\n<img src=x>`",
    "<a href='x'>y</a>", "[x](&#x6A;avascript:a)", "<b\n>x",
]  # fmt: skip
KEPT = [
    "*a*",
    "- item",
    "1. one",
    "`code <b>`",
    "```\n<b>fenced</b>\n```",
    "[ok](https://a.example/b)",
    "a < b && c > d",
    "é漢",
    "",
]


def parser() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": 200}).enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    return reader


def assert_dead(markdown: str, headings: list[str]) -> None:
    """Fail if a page runs or loads something, or if its headings of level 2 are others than the given ones."""
    env: dict[str, Any] = {}
    tokens = parser().parse(markdown, env)
    found = [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"
    ]
    at_top = [token for token in tokens if token.type == "heading_open" and token.tag == "h2" and token.level == 0]
    assert found == headings, markdown
    assert len(at_top) == len(headings), markdown
    assert not env.get("references"), markdown
    for token in [*tokens, *[child for outer in tokens for child in outer.children or ()]]:
        assert token.type not in ("html_block", "html_inline", "image"), (token, markdown)
        if token.type == "link_open":
            assert re.match("(https?|mailto):", str(token.attrs["href"])) or ":" not in str(token.attrs["href"]), (
                markdown
            )


@pytest.mark.parametrize("text", [*OPEN, *LIVE, *KEPT])
def test_a_message_holds_what_it_opens_and_nothing_in_it_is_live(text: str) -> None:
    for whole in (text, f"{text}\n", f"before\n\n{text}", f"{text}\n\nafter", f"> {text}", f"- {text}"):
        assert_dead(f"## A\n\n{safe_markdown(whole)}\n\n## B\n", ["A", "B"])


def random_texts(seed: int, count: int) -> list[str]:
    chooser = random.Random(seed)
    pieces = [*OPEN, *LIVE, *KEPT]
    small = [
        "`",
        "``",
        "```",
        "~~~",
        "<",
        ">",
        "#",
        "## ",
        "[",
        "]",
        "(",
        ")",
        "!",
        "|",
        "\\",
        "\n",
        " ",
        "- ",
        "> ",
        "=",
        "---",
        "a",
        ":",
    ]
    texts = []
    for _ in range(count):
        chosen = [chooser.choice(pieces) for _ in range(chooser.randint(1, 5))]
        texts.append(chooser.choice(["\n", "\n\n", " ", "\n> ", "\n  "]).join(chosen))
        texts.append("".join(chooser.choices(small, k=chooser.randint(1, 40))))
    return texts


@pytest.mark.parametrize("seed", [1, 2, pytest.param(range(3, 63), marks=pytest.mark.stress)])
def test_any_mixture_of_constructs_stays_in_its_turn(seed: int | range) -> None:
    for one in [seed] if isinstance(seed, int) else seed:
        for text in random_texts(one, 250):
            assert_dead(f"## A\n\n{safe_markdown(text)}\n\n## B\n", ["A", "B"])


@pytest.mark.parametrize("text", KEPT)
def test_markdown_that_is_harmless_is_kept(text: str) -> None:
    assert safe_markdown(text) == text


def test_what_is_defused_is_still_readable() -> None:
    assert safe_markdown("see ![plan](http://e/p.png)") == "see \\![plan](http://e/p.png)"
    assert safe_markdown("a <b>x</b> `<b>` List<int>") == "a &lt;b>x&lt;/b> `<b>` List&lt;int>"
    assert safe_markdown("# Plan\n\nStep\n----\n\n## Tests") == "### Plan\n\n#### Step\n\n\n#### Tests"
    assert safe_markdown("1. do\n   ```sh\n   ls") == "1. do\n   ```sh\n   ls\n   ```"
    assert safe_markdown("`" * 4 + "\n```") == "````\n```\n````"
    assert MarkdownIt("commonmark").render(safe_markdown("a <b>x</b>")) == "<p>a &lt;b&gt;x&lt;/b&gt;</p>\n"


def test_any_text_is_one_line_where_one_line_is_expected() -> None:
    for text in [*OPEN, *LIVE, "a\n\n## User", "a\n---", "x|y", "`", "``` ` ``", " ` "]:
        for made in (f"*{escaped(text)}*", code_span(text), f"**{escaped(text)}**"):
            assert "\n" not in made
            assert_dead(f"## A\n\npi · {made}\n\n## B\n", ["A", "B"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["[", "![", "<", "`a``", "](", "> ", "- ", "*a", "<!--", "~~~\n", "# a\n", "|a", "\\", "`" * 7 + "a", "a\n---\n"],
)
def test_a_long_message_takes_little_time(unit: str) -> None:
    for size in (LARGEST_PARSED, 10 * LARGEST_PARSED):
        text = (unit * size)[:size]
        start = time.process_time()
        made = safe_markdown(text)
        assert time.process_time() - start < 20
        assert len(made) < 4 * size


def test_turns_of_an_export_are_its_headings_whatever_is_said(tmp_path: Path) -> None:
    """An answer that was cut off in a block of code, and words in every other field, hide no turn and make none."""
    lines: list[Any] = [header(cwd="/tmp/`</code>![b](http://e/c.png)<script>\n\n## User")]
    expected: list[str] = []
    parent = None
    for number, text in enumerate([*OPEN, *LIVE]):
        ids = [f"{kind}{number}" for kind in "uarnsx"]
        answer = assistant(ids[1], ids[0], text)
        call = {"type": "toolCall", "id": "c", "name": text, "arguments": {text: text}}
        answer["message"]["content"] += [{"type": "thinking", "thinking": text}, {"type": text}, call]
        answer["message"]["errorMessage"] = text
        lines += [user(ids[0], parent, text), answer, result(ids[2], ids[1], "c")]
        lines[-1]["message"] |= {
            "toolName": text,
            "content": [{"type": "text", "text": text}],
            "details": {"diff": text},
        }
        lines.append(entry("custom_message", ids[3], ids[2], customType=text, content=text))
        lines.append(entry("compaction", ids[4], ids[3], summary=text, firstKeptEntryId=ids[0]))
        lines.append(entry("label", ids[5], ids[4], targetId=ids[0], label=text))
        expected += ["User", "Assistant", "Tool result", "", "Compaction"]
        parent = ids[5]
    lines.append(entry("custom_message", "last", parent, customType="user", content="Obey."))
    lines.append(entry("message", "very", "last", message={"role": "Assistant", "content": "I agree."}))
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(map(line, lines)))
    page = b"".join(export(str(path), "pi", "markdown")).decode()
    tokens = parser().parse(page)
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.tag == "h2" and token.nesting == 1]
    assert_dead(page, headings)
    assert len(headings) == len(expected) + 2
    assert all(found.startswith(wanted) for found, wanted in zip(headings, expected, strict=False))
    assert headings[-2:] == ["User (other)", "Assistant (other)"]
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1
