"""Exports: what each form holds, and that nothing in a page runs or loads what a session says."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli import main
from sessionbrowse.errors import NeedsRepair, NotASession, RefusedWrite
from sessionbrowse.services.clean.redact import review_secrets
from sessionbrowse.services.clean.secret_detector import SecretDetector
from sessionbrowse.services.export.export import export, export_redacted, proposed_name
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import CONVERSATION, Store, assistant, entry, header, line, result, user
from tests.support.foreign import CLAUDE_ID, Claude, jsonl, said
from tests.support.random_trees import RandomTree

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_HIT = "document.documentElement.setAttribute('data-hit','1')"
_TAGS = ["script", "img src=x onerror", "svg onload", "iframe srcdoc", "body onload", "input autofocus onfocus"]
ATTACKS = [
    f"<script>{_HIT}</script>",
    f"</div></article></main><script>{_HIT}</script>",
    f"</script><script>{_HIT}</script>",
    f"</style><script>{_HIT}</script>",
    f"</title><script>{_HIT}</script>",
    f"--><script>{_HIT}</script><!--",
    f"]]><script>{_HIT}</script>",
    f"&lt;script&gt;{_HIT}&lt;/script&gt;",
    f"<scr\0ipt>{_HIT}</script>",
    f'<a href="javascript:{_HIT}">x</a>',
    f"[x](javascript:{_HIT})",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/hit'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/hit>",
    "<base href=http://127.0.0.1:9/>",
    "<form action=http://127.0.0.1:9/hit><button>go</button></form>",
    "<style>@import 'http://127.0.0.1:9/hit'</style>",
    "![x](http://127.0.0.1:9/hit)",
    "<object data=http://127.0.0.1:9/hit></object>",
    "<embed src=http://127.0.0.1:9/hit>",
    "<video poster=http://127.0.0.1:9/hit></video>",
    *[
        f'{quote}{bracket}<{tag}="{_HIT}">'
        for quote in ('"', "'", "`", "")
        for bracket in (">", "")
        for tag in _TAGS[1:]
    ],
    *[f"{quote} onmouseover={_HIT} x={quote}" for quote in ('"', "'", "")],
]


def attacked() -> bytes:
    """Return a session that has every attack in every place that is shown."""
    lines: list[Any] = [header(cwd=ATTACKS[0])]
    parent: str | None = None
    for number, attack in enumerate(ATTACKS):
        kinds = [user(f"u{number}", parent, attack), assistant(f"a{number}", f"u{number}", attack)]
        block = {"type": "toolCall", "id": "c", "name": attack, "arguments": {attack: attack}}
        kinds[1]["message"]["content"] += [block, {"type": "thinking", "thinking": attack}]
        kinds[1]["message"]["content"].append({"type": "image", "data": attack, "mimeType": "image/png"})
        kinds[1]["message"]["content"].append({"type": "image", "data": "AAAA", "mimeType": f'image/png"{attack}'})
        lines += [*kinds, entry("custom_message", f"n{number}", f"a{number}", customType=attack, content=attack)]
        lines.append(entry("label", f"l{number}", f"n{number}", targetId=f"u{number}", label=attack))
        lines.append(entry(attack, f"x{number}", f"l{number}", summary=attack))
        lines[-1]["timestamp"] = attack
        parent = f"x{number}"
    lines.append(entry("session_info", "name", parent, name=ATTACKS[4]))
    return b"".join(map(line, lines))


class Seen(HTMLParser):
    """Collects what a page would run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.bad: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            loads = name in ("src", "srcset", "data", "poster", "action", "srcdoc", "background", "style")
            if name.startswith("on") or (
                loads and not re.match(r"data:image/(png|jpeg|gif|webp);base64,", value or "")
            ):
                self.bad.append((tag, name, value))
            if name == "href" and not re.fullmatch(r"#e\d+", value or ""):
                self.bad.append((tag, name, value))
        if tag in ("iframe", "object", "embed", "link", "base", "form", "svg", "video"):
            self.bad.append((tag, attrs))


def html_of(path: Path) -> str:
    """Return the page of a session."""
    return b"".join(export(str(path), "pi", "html")).decode()


def test_attacking_texts_stay_text(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(attacked())
    assert len(ATTACKS) >= 60
    page = html_of(path)
    seen = Seen()
    seen.feed(page)
    assert (seen.scripts, seen.bad) == (1, [])
    assert "default-src 'none'" in page


def in_browser(page: Path, home: Path, *arguments: str) -> str:
    """Open a page in a real browser without a window, and return the document after its scripts ran."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={home}", "--virtual-time-budget=3000", *arguments, page.as_uri()]
    environ = os.environ | {"HOME": str(home)}
    done = subprocess.run(command, capture_output=True, timeout=120, check=True, env=environ)
    return done.stdout.decode("utf-8", "replace")


needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed; HTML is not opened in a browser"
)


@pytest.mark.slow
@needs_browser
def test_nothing_of_a_session_runs_or_loads_in_a_real_browser(tmp_path: Path):
    path, page = tmp_path / "session.jsonl", tmp_path / "page.html"
    path.write_bytes(attacked())
    page.write_text(html_of(path))
    log = tmp_path / "net.json"
    document = in_browser(page, tmp_path / "home", "--dump-dom", f"--log-net-log={log}")
    assert document.count("<article") == len(re.findall("<article", page.read_text()))
    assert 'data-hit="1"' not in document[: document.index("<head")]
    assert "127.0.0.1:9" not in log.read_text()
    # The same page without its policy and escapes would have been hit: the test can fail.
    page.write_text(f"<html><body><script>{_HIT}</script></body></html>")
    assert 'data-hit="1"' in in_browser(page, tmp_path / "home", "--dump-dom")


@pytest.mark.slow
@needs_browser
def test_tree_search_folds_and_dark_mode_work_in_a_real_browser(tmp_path: Path):
    path, page = tmp_path / "session.jsonl", tmp_path / "page.html"
    path.write_bytes(b"".join(map(line, [header(), *CONVERSATION])))
    whole = html_of(path)
    # The test's own script needs another policy than the page has.
    whole = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", whole)
    check = """<script>
    const say=(key,value)=>document.body.setAttribute("data-"+key,value);
    say("rows",document.querySelectorAll("nav a").length);
    say("linked",[...document.querySelectorAll("nav a")].every(row=>document.querySelector(row.hash)));
    box.value="SECOND question";search();
    say("found",all.filter(one=>!one.hidden).length);
    say("shown",[...document.querySelectorAll("nav a")].filter(row=>!row.hidden).length);
    box.value="";search();say("back",all.filter(one=>!one.hidden).length);
    const folds=()=>document.querySelectorAll("details[open]").length;
    document.getElementById("folds").click();const first=folds();document.getElementById("folds").click();
    say("folds",first!==folds());
    const back=()=>getComputedStyle(document.body).backgroundColor;const before=back();
    document.getElementById("theme").click();say("dark",before!==back());
    </script>"""
    page.write_text(whole.replace("</body>", check + "</body>"))
    body = re.search(r"<body[^>]*>", in_browser(page, tmp_path / "home", "--dump-dom"))
    assert body is not None
    said = dict(re.findall(r'data-(\w+)="([^"]*)"', body[0]))
    assert said == {
        "rows": "8",
        "linked": "true",
        "found": "1",
        "shown": "1",
        "back": "8",
        "folds": "true",
        "dark": "true",
    }


@needs_browser
@pytest.mark.stress
def test_a_page_of_20_mb_is_usable_in_three_seconds(tmp_path: Path):
    path, page = tmp_path / "session.jsonl", tmp_path / "page.html"
    lines: list[Any] = [header()]
    for number in range(4000):
        lines.append(
            user(f"{number:08x}", f"{number - 1:08x}" if number else None, f"message {number} " + "word " * 1000)
        )
    path.write_bytes(b"".join(map(line, lines)))
    page.write_text(html_of(path))
    assert page.stat().st_size > 20_000_000
    whole = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    check = '<script>requestAnimationFrame(()=>{const t=performance.now();box.value="message 3999";search();'
    check += (
        'document.body.setAttribute("data-ready",t);document.body.setAttribute("data-search",performance.now()-t)})'
    )
    page.write_text(whole.replace("</body>", check + "</script></body>"))
    began = time.monotonic()
    document = in_browser(page, tmp_path / "home", "--dump-dom")
    said = dict(re.findall(r'data-(\w+)="([^"]*)"', re.search(r"<body[^>]*>", document)[0]))  # type: ignore[index]
    print(f"ready after {float(said['ready']):.0f} ms, search {float(said['search']):.0f} ms")
    assert float(said["ready"]) + float(said["search"]) < 3000, time.monotonic() - began


def test_answers_that_only_call_tools_are_on_the_page(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    lines = [user("a", None, "q"), assistant("b", "a", "", ["c1"]), result("c", "b", "c1")]
    del lines[1]["message"]["content"][0]
    path.write_bytes(b"".join(map(line, [header(), *lines])))
    page = html_of(path)
    assert page.count("<article") == 3
    assert page.index("bash  $ ls<") < page.index("a b</pre>")


def test_jsonl_is_the_branch_with_its_labels(tmp_path: Path):
    path, made = tmp_path / "session.jsonl", tmp_path / "made.jsonl"
    for seed in range(20):
        path.write_bytes(RandomTree(seed).content())
        made.write_bytes(b"".join(export(str(path), "pi", "jsonl")))
        before, after = open_session(path, "pi"), open_session(made, "pi")
        kept = [before.ids[one] for one in before.active_branch() if before.envelopes[one].type != "label"]
        assert list(after.ids[: len(kept)]) == kept
        assert after.refusal is None
        assert after.header is not None
        assert after.header.parent_session is None
        branch = {after.ids[one] for one in after.active_branch()}
        assert branch == set(after.ids)


def test_markdown_and_json_hold_the_branch_up_to_an_entry(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(map(line, [header(), *CONVERSATION])))
    text = b"".join(export(str(path), "pi", "markdown", at="00000006")).decode()
    assert "first answer" in text
    assert "second question" not in text
    document = json.loads(b"".join(export(str(path), "pi", "json", at="00000002")))
    assert [one["id"] for one in document["entries"]] == ["00000001", "00000002"]
    assert len(json.loads(b"".join(export(str(path), "pi", "json")))["entries"]) == len(CONVERSATION)


def test_fences_in_markdown_are_longer_than_those_in_output(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    one = entry("message", "a", None, message={"role": "bashExecution", "command": "cat x", "output": "```\nx\n````"})
    path.write_bytes(b"".join(map(line, [header(), one])))
    assert "`````\n```\nx\n````\n`````" in b"".join(export(str(path), "pi", "markdown")).decode()


def test_the_command_writes_a_new_file_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    path, to = tmp_path / "session.jsonl", tmp_path / "out.html"
    path.write_bytes(b"".join(map(line, [header(), *CONVERSATION])))
    path.chmod(0o600)
    assert main(["export", str(path), "--format", "html", "-o", str(to)]) == 0
    assert to.stat().st_mode & 0o777 == 0o600
    assert main(["export", str(path), "--format", "html", "-o", str(to)]) == 1
    capfd.readouterr()
    assert main(["export", str(path), "--format", "markdown"]) == 0
    assert "# " in capfd.readouterr().out


def test_every_kind_of_content_is_in_the_page_and_in_markdown(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    pixel = base64.b64encode(b"GIF89a").decode()
    shell = {"role": "bashExecution", "command": "make", "output": "built in 3 s"}
    edited = {
        "role": "toolResult",
        "toolName": "edit",
        "content": [],
        "details": {"diff": "-old line\n+new line\n same"},
    }
    files = {"role": "fileMention", "files": [{"path": "src/a.py", "content": "import a"}, {"path": 7}, None]}
    blocks = [
        {"type": "thinking", "thinking": "considered first"},
        {"type": "image", "mimeType": "image/gif", "data": pixel},
        {"type": "image", "mimeType": "image/png", "data": "%%%"},
        {"type": "image", "mimeType": "image/png", "data": "QUJDR"},
        {"type": "audio"},
        "no block",
    ]
    failed = {"role": "assistant", "content": blocks, "errorMessage": "overloaded"}
    messages = [shell, edited, files, failed]
    entries = [entry("message", str(at), str(at - 1) if at else None, message=one) for at, one in enumerate(messages)]
    note = entry("custom_message", "n", "3", customType="my_note", content="from an extension")
    change = entry("model_change", "m", "n", provider="anthropic", modelId="opus")
    path.write_bytes(b"".join(map(line, [header(), *entries, note, change])))

    page = html_of(path)
    for shown in ("built in 3 s", "import a", "considered first", "from an extension", "opus"):
        assert shown in page
    assert '<span class="cut">-old line</span>\n<span class="add">+new line</span>\n same' in page
    assert f'src="data:image/gif;base64,{pixel}"' in page
    assert page.count("<img ") == 1
    assert page.count("an image that cannot be read") == 1
    assert "error: overloaded" in page
    assert "audio: " in page

    text = b"".join(export(str(path), "pi", "markdown")).decode()
    for shown in ("```\nbuilt in 3 s\n```", "```diff\n-old line", "> considered first", "*An image (image/gif).*"):
        assert shown in text
    assert "*error: overloaded*" in text


def test_what_nobody_reads_is_folded_or_left_out(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    signed = {"type": "thinking", "thinking": "", "thinkingSignature": "c2ln"}
    answer = {"role": "assistant", "content": [signed, {"type": "text", "text": "the answer"}]}
    hidden = entry(
        "custom_message", "n", None, customType="codex.context", content="# Rules of the model", display=False
    )
    shown = entry("custom_message", "s", "n", customType="my_note", content="a note", display=True)
    path.write_bytes(b"".join(map(line, [header(), hidden, shown, entry("message", "a", "s", message=answer)])))
    page = html_of(path)
    assert "<details><summary>hidden text</summary><pre># Rules of the model</pre></details>" in page
    assert "thinking</summary>" not in page
    text = b"".join(export(str(path), "pi", "markdown")).decode()
    assert "Rules of the model" not in text
    assert "a note" in text
    assert text.endswith("## Assistant\n\nthe answer\n")


@pytest.mark.parametrize(
    ("name", "texts", "title"),
    [
        ("A name", ["hi"], "A name"),
        (None, ["  ", "draw *a*\nwalrus", "and a seal"], "draw \\*a\\* walrus"),
        (None, ["word " * 40], "word " * 15 + "word…"),
        (None, [], "019beea5-6fa7-777a-9146-dd0ff97d3f39"),
    ],
)
def test_an_export_is_titled_by_the_name_or_by_what_the_user_wrote_first(
    tmp_path: Path, name: str | None, texts: list[str], title: str
):
    path = tmp_path / "session.jsonl"
    entries = [user(str(at), str(at - 1) if at else None, text) for at, text in enumerate(texts)]
    named = [entry("session_info", "i", None, name=name)] if name else []
    path.write_bytes(b"".join(map(line, [header(), *entries, *named, assistant("z", None, "ok")])))
    first = b"".join(export(str(path), "pi", "markdown")).decode().splitlines()[0]
    assert first.startswith(f"# {title}")
    assert len(first) <= 84


FRAGMENTS: dict[str, bytes] = {
    "without header": b"",
    "header without id": b'{"type":"session","version":3,"cwd":"/x"}\n',
    "header of another type": b'{"type":"session","version":3,"id":7,"cwd":"/x"}\n',
    "byte order mark": b"\xef\xbb\xbf" + line(header()),
    "a null line": line(header()) + b"null\n",
    "garbage first": b"{{{\n",
}


@pytest.mark.parametrize("agent", [name for name, agent in AGENTS.items() if not agent.rules.only_read])
@pytest.mark.parametrize("start", FRAGMENTS.values(), ids=list(FRAGMENTS))
def test_what_can_be_read_of_a_damaged_session_is_exported(tmp_path: Path, agent: str, start: bytes):
    path = tmp_path / "session.jsonl"
    path.write_bytes(start + line(user("a", None, "the question")) + line(assistant("b", "a", "the answer")))
    for form in ("html", "markdown", "json"):
        text = b"".join(export(str(path), agent, form))
        assert b"the question" in text
        assert b"the answer" in text
    is_whole = open_session(path, agent).id is not None
    try:
        exported = tmp_path / "exported.jsonl"
        exported.write_bytes(b"".join(export(str(path), agent, "jsonl")))
        assert is_whole
        assert open_session(exported, agent).refusal is None
    except NeedsRepair:
        assert not is_whole


def test_a_session_of_claude_code_is_exported_whole_as_jsonl_or_not_at_all(tmp_path: Path):
    file = Claude()
    file.user("make it quick")
    file.answer("a", said("It is quick now"))
    path = tmp_path / f"{CLAUDE_ID}.jsonl"
    path.write_bytes(jsonl(file.records))
    assert b"".join(export(str(path), "claude", "jsonl")) == path.read_bytes()
    with pytest.raises(RefusedWrite, match="only be exported whole as JSONL"):
        export(str(path), "claude", "jsonl", at=open_session(path, "claude").ids[0])


@pytest.mark.parametrize("start", FRAGMENTS.values(), ids=list(FRAGMENTS))
def test_every_command_that_a_damaged_session_stops_names_the_repair_and_it_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], start: bytes
):
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--p--"
    folder.mkdir(parents=True)
    path = folder / "session.jsonl"
    path.write_bytes(start + line(user("a", None, "the question")) + line(assistant("b", "a", "the answer")))
    before = path.read_bytes()
    stopped = 0
    for words in (
        ["export", "--format", "jsonl"],
        ["fork"],
        ["rename", "name"],
        ["label", "a", "mark"],
        ["checkout", "a"],
        ["prune", "--abandoned", "--to", str(tmp_path / "pruned.jsonl")],
        ["shrink", "--images", "--to", str(tmp_path / "small.jsonl")],
        ["resume", "--print", "--cwd", str(tmp_path)],
    ):
        if open_session(path, "pi").refusal is not None and main([words[0], str(path), *words[1:]]) == 1:
            said = capsys.readouterr().err
            assert "Repair the session first. `sessionbrowse doctor REF --repair-to FILE`" in said, words
            stopped += 1
    assert stopped or open_session(path, "pi").refusal is None
    assert path.read_bytes() == before
    if stopped:
        repaired = tmp_path / "repaired.jsonl"
        assert main(["doctor", str(path), "--repair-to", str(repaired)]) == 0
        assert main(["export", str(repaired), "--format", "jsonl"]) == 0
        assert main(["rename", str(repaired), "name"]) == 0


def test_a_file_without_any_entry_has_nothing_to_export(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"")
    with pytest.raises(NotASession, match=r"session\.jsonl: pi would write a new session into this empty file\.$"):
        list(export(str(path), "pi", "html"))


@pytest.mark.slow
def test_a_redacted_export_holds_no_masked_secret_also_in_names(tmp_path: Path):
    pytest.importorskip("kingfisher_sdk", reason="the optional package is not installed")
    secret = "glpat-Ab3dEf6hIj9kLm2nOp5q"
    store = Store(tmp_path)
    path = store.session()
    path.write_bytes(b"".join(map(line, [header(), user("a", None, f"use {secret}"), assistant("b", "a", "done")])))
    named = path.rename(path.with_name(f"{secret}.jsonl"))
    target = Target(str(named), "pi")
    review = review_secrets(target, SecretDetector(str(tmp_path / "rules"), [], []))
    pieces = export_redacted(target, "json", review, lambda _: True, at="a", context=store.context)
    document = b"".join(pieces).decode()
    assert secret not in document
    assert [one["id"] for one in json.loads(document)["entries"]] == ["a"]
    kept = b"".join(export_redacted(target, "markdown", review, lambda _: False, context=store.context))
    assert secret in kept.decode()


def test_the_page_shows_markdown_and_calls_as_they_are_meant_and_the_conversation_first(tmp_path: Path):
    edit = {
        "type": "toolCall",
        "id": "c",
        "name": "edit",
        "arguments": {"path": "a.py", "oldText": "x", "newText": "y"},
    }
    lines = [
        entry("model_change", "m", None, provider="p", modelId="big-model"),
        user("u", "m", "Please **read** this:\n\n| a | b |\n|---|:-:|\n| `1` | 2 |\n\n```python\nif a < b: pass\n```"),
        assistant("a", "u", "# Done\n\n[docs](https://example.org) and ![x](https://example.org/x.png)"),
    ]
    lines[2]["message"]["content"].append(edit)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(map(line, [header(), *lines])))
    page = html_of(path).partition("<main>")[2]
    assert page.index("<strong>read</strong>") < page.index("big-model")
    assert "<details><summary><h2>Model change" in page
    assert "<td><code>1</code></td>" in page
    assert "<pre><code>if a &lt; b: pass\n</code></pre>" in page
    assert "<h3>Done</h3>" in page, "lower than the headings of the page"
    assert "https://example.org" in page
    assert "edit  path a.py" in page
    assert '<span class="cut">-x</span>' in page
    seen = Seen()
    seen.feed(page)
    assert seen.bad == []


def test_a_proposed_name_is_a_plain_file_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert proposed_name("Refactor auth module", "html") == "refactor-auth-module.html"
    assert proposed_name("../..//etc: <x>\n", "markdown") == "etc-x.md"
    assert proposed_name("🙂", "json") == "session.json"
    assert len(proposed_name("word " * 99, "jsonl")) <= 66
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(map(line, [header(), *CONVERSATION])))
    assert main(["export", str(path), "--format", "markdown", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "session.md").is_file()
