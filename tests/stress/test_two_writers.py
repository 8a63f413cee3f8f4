"""A program appends 20,000 lines as pi does while ours renames and labels 2,000 times: no line is lost or orphaned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import CONVERSATION, Store, target

pytestmark = pytest.mark.stress

LINES = 20_000
CHANGES = 2_000

# Opens, appends and closes for every line, and knows only its own lines, as pi does.
APPENDER = """
import json, os, random, sys, time
path, count = sys.argv[1], int(sys.argv[2])
chooser = random.Random(7)
parent = "00000008"
for number in range(count):
    entry_id = f"{0xb0000000 + number:08x}"
    text = "x" * chooser.choice([10, 100, 20000 if number % 500 == 0 else 50])
    line = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": "2026-08-13T08:00:00.000Z",
            "message": {"role": "user", "content": text, "timestamp": number}}
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, json.dumps(line).encode() + b"\\n")
    os.close(descriptor)
    parent = entry_id
    if chooser.random() < 0.5:
        time.sleep(chooser.random() / 250)
"""


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.session()
    context = store.context
    changes = overtaken = 0
    with subprocess.Popen([sys.executable, "-c", APPENDER, str(path), str(LINES)]) as appender:
        while appender.poll() is None or changes < CHANGES:
            if changes % 2:
                made = label(target(path), "00000003", f"mark {changes}", context=context).notes
            else:
                made = rename(target(path), f"name {changes}", context=context).notes
            overtaken += bool(made)
            changes += 1
        assert appender.wait(timeout=600) == 0
    content = path.read_bytes()
    session = open_session(path)
    assert session.problems == (), "no line is torn, fused or without its parent"
    ids = [envelope.id for envelope in session.envelopes]
    assert len(set(ids)) == len(ids) == content.count(b"\n") - 1
    theirs = [f"{0xB0000000 + number:08x}" for number in range(LINES)]
    assert [entry_id for entry_id in ids if entry_id in set(theirs)] == theirs
    branch = {session.envelopes[index].id for index in session.active_branch()}
    assert branch.issuperset(theirs), "the newest messages are on the branch"
    assert branch.issuperset(entry["id"] for entry in CONVERSATION)
    last_name = changes - 1 if changes % 2 else changes - 2
    assert session.name == f"name {last_name}"
    ours = len(ids) - LINES - len(CONVERSATION)
    print(f"{changes} changes in {ours} lines beside {LINES} others; {overtaken} were overtaken")
    assert ours >= changes >= CHANGES
    assert os.listdir(path.parent) == [path.name]
