"""Text that attacks: no command, in no form of output and no error, sends a terminal what a session says raw."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tty
from pathlib import Path

import pytest

from sessionbrowse.cli.parser import MODULE_OF_COMMAND
from tests.stories.test_attacks import ATTACKS, attacked_home
from tests.stories.test_hostile import ATTACK
from tests.tui.outside.test_terminal import surroundings

ALL_CONTROLS = "".join(
    map(chr, [*range(1, 32), *range(127, 160), 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F)])
)
GIVEN = ALL_CONTROLS + ATTACK.replace("\0", "")
"""What a person, or a script, may give as a word of a command: everything but NUL."""
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters on which a terminal acts; invisible ones, which a JSON string may hold, are not among them."""
OURS = re.compile(rb"\x1b\[(?:0|1|2|3|22|23)?m|\r\x1b\[K|\r(?=[0-9,]+ of )|\r\n")
DRIVER = """
import json, os, sys
from sessionbrowse.cli import main
for number, words in enumerate(json.load(open(sys.argv[1]))):
    os.write(1, b"\\n=== %d ===\\n" % number)
    try:
        main([word.replace("SESSION", sys.argv[2]) for word in words])
    except SystemExit:
        pass
    except Exception:
        import traceback
        traceback.print_exc()
    sys.stdout.flush(); sys.stderr.flush()
"""
READING = [
    ["list"], ["list", "--long"], ["list", "--json"], ["list", "--null"], ["list", "--families"], ["list", "markup"],
    ["list", "--cwd", GIVEN], ["projects"], ["projects", "--json"], ["labels"], ["labels", "--json"],
    ["stats"], *[["stats", "--by", by] for by in ("session", "family", "project", "model", "branch", "provider")],
    ["stats", "--by", "session", "--json"], ["stats", "--by", "model", "--csv"],
    ["search", "markup"], ["search", "markup", "--json"], ["search", "markup", "--for-agent"],
    ["search", "link", "--tools", "--sort", "newest"], ["search", GIVEN], ["search", "re:[" + GIVEN],
    ["search", "evil", "--tools"],
    *[["show", "SESSION", *more] for more in ([], ["--json"], ["--for-agent"])],
    *[["tree", "SESSION", *more] for more in ([], ["--json"], ["--ids"], ["--filter", "all"], ["--for-agent"])],
    *[["context", "SESSION", *more] for more in ([], ["--json"], ["--for-agent"])],
    *[["export", "SESSION", "--format", form] for form in ("html", "markdown", "jsonl", "json")],
    ["diff", "SESSION", "01", "07"], ["diff", "SESSION", "01", "07", "--json"], ["diff", "SESSION", GIVEN, GIVEN],
    ["resume", "SESSION", "--print"], ["resume", "SESSION"], ["resume", "SESSION", "--print", "--at", "03"],
    ["show", GIVEN], ["show", "0"], ["show", "1", "--agent", GIVEN], ["--agent", GIVEN, "list"],
    ["--root", GIVEN, "list"], [GIVEN], ["list", "--sort", GIVEN], ["list", "--since", GIVEN], ["--" + GIVEN],
    ["doctor"], ["doctor", "SESSION"], ["doctor", "--json"], ["cleanup"], ["cleanup", "--json"], ["config"],
    ["redact", "SESSION", "--to", "OUT/r.jsonl", "--dry-run"], ["redact", "SESSION", "--to", GIVEN],
    ["prune", "SESSION", "--abandoned", "--to", "OUT/p.jsonl", "--dry-run"],
    ["prune", "SESSION", "--drop", GIVEN, "--in-place"],
    ["shrink", "SESSION", "--images", "--in-place", "--dry-run"],
    ["relocate", f"/p/{ATTACK}".replace("\0", ""), "/q", "--dry-run"], ["relocate", GIVEN],
    ["relocate", "/p", GIVEN, "--dry-run"], ["restore", "--list"], ["restore", GIVEN], ["undo", GIVEN],
    ["index"], ["index", "--status"], ["list"], ["search", "markup"], ["integrate", "pi", "--print"],
    ["shell", "bash"], ["completion", "zsh"], ["pick", "--session", GIVEN], ["demo", "--to", GIVEN + "/x/y"],
]  # fmt: skip
CHANGING = [
    ["rename", "SESSION", "new " + GIVEN], ["label", "SESSION", "03", GIVEN], ["label", "SESSION", GIVEN, "x"],
    ["checkout", "SESSION", "03"], ["fork", "SESSION"], ["fork", "SESSION", "--cwd", GIVEN],
    ["machines"], ["machines", "add", "mini", GIVEN], ["machines", "forget", "mini"],
    ["convert", "SESSION", "--to", "omp"], ["convert", "SESSION", "--to", "pi", "--cwd", GIVEN],
    ["prune", "SESSION", "--abandoned", "--to", "OUT/" + GIVEN.replace("/", "")],
    ["shrink", "SESSION", "--images", "--in-place"], ["doctor", "SESSION", "--repair"],
    ["export", "SESSION", "--format", "html", "-o", "OUT/" + GIVEN.replace("/", "")],
    ["archive", "SESSION"], ["undo", "--list"], ["undo", "--list", "--json"], ["undo"],
    ["delete", "SESSION"], ["delete", "SESSION", "--yes"], ["restore", "--list"], ["restore", "--list", "--json"],
    ["undo"], ["undo", "--list"], ["cleanup", "--yes"],
    ["relocate", f"/p/{ATTACK}".replace("\0", ""), "OUT"], ["undo"], ["index", "--clear"],
]  # fmt: skip


def on_a_terminal(commands: list[list[str]], home: Path, session: Path) -> list[bytes]:
    """Run commands one after another in one process on a terminal, answer no to all; return the output of each."""
    out = home / "out"
    out.mkdir()
    listed = home / "commands.json"
    listed.write_text(json.dumps([[word.replace("OUT", str(out)) for word in words] for words in commands]))
    ours, slave = os.openpty()
    tty.setraw(slave)
    program = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(listed), str(session)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=surroundings(home, home),
        cwd=home,
        start_new_session=True,
    )
    os.close(slave)
    os.write(ours, b"n\n" * 200)
    seen = b""
    try:
        while select.select([ours], [], [], 60)[0] and (read := _read(ours)):
            seen += read
    finally:
        program.kill()
        program.wait(30)
        os.close(ours)
    return re.split(rb"\n=== \d+ ===\n", seen)[1:]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux says so when the program has ended.
        return b""


@pytest.fixture
def hostile_home(own_home: Path) -> Path:
    """A person with sessions of pi and omp in which every text attacks, some with their controls unescaped."""
    attacked_home(own_home)
    (folder,) = (own_home / ".pi/agent/sessions").iterdir()
    for path in list(folder.iterdir()):
        raw = [
            json.dumps(json.loads(line), ensure_ascii=False)
            for line in path.read_text().splitlines()
            if line[:1] == "{"
        ]
        unescaped = "\n".join([*raw, ""]).encode("utf-8", "replace")
        beside = own_home / ".omp/agent/sessions" / f"-{folder.name.strip('-')}-" / path.name
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(unescaped)
    return own_home


@pytest.mark.parametrize(("agent", "number"), [("pi", 0), ("omp", 2)])
def test_no_command_sends_a_terminal_what_a_session_says_raw(hostile_home: Path, agent: str, number: int) -> None:
    (folder,) = (hostile_home / f".{agent}/agent/sessions").iterdir()
    session = sorted(path for path in folder.iterdir() if path.name.startswith("2026"))[number]
    commands = READING + CHANGING
    shown = on_a_terminal(commands, hostile_home, session)
    assert len(shown) == len(commands)
    raw = []
    for words, seen in zip(commands, shown, strict=True):
        text = OURS.sub(b"", seen).decode(errors="backslashreplace").replace("\0", "" if "--null" in words else "\0")
        found = ACTING.search(text)
        if found is not None or any(attack in seen for attack in ATTACKS):
            at = found.start() if found is not None else 0
            raw.append((words, text[max(0, at - 60) : at + 60]))
        assert b"Traceback" not in seen, (words, text[-2000:])
    assert not raw, "\n\n".join(map(repr, raw))
    assert sum(len(seen) > 40 for seen in shown) > 0.8 * len(shown)


def test_every_command_is_run_on_hostile_texts() -> None:
    interactive = {"pick", "demo"}
    assert {words[0] for words in READING + CHANGING} >= set(MODULE_OF_COMMAND) - interactive - {"unarchive"}
