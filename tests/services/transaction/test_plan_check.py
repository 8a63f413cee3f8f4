"""A journal record never names what it may not touch; a damaged one is a sentence, and the next change goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.errors import CannotUndo, RefusedWrite
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.undo import undo, undoable
from tests.support.change_helpers import Store, target

PLANS: dict[str, dict[str, Any]] = {
    "a folder of the user": {"kind": "create", "folder": "{precious}", "new_folders": ["{precious}"]},
    "a file of the user": {"kind": "create", "temporary": "{precious}/letter.txt"},
    "a temporary elsewhere": {"kind": "insert", "temporary": "{precious}/.x.jsonl.0.tmp", "new": "", "size": 1},
    "a move over a folder": {"kind": "moves", "moves": [["{home}/gone", "{precious}"]]},
    "a way up": {"kind": "create", "temporary": "{home}/a/../precious/.x.tmp"},
    "a list for a text": {"kind": "create", "temporary": ["x"]},
    "no items": {"kind": "trash"},
    "items of another shape": {"kind": "trash", "items": [1, None]},
    "a file that is no session": {"kind": "relocate", "folders": [], "files": [["{precious}/letter.txt"] * 2]},
    "folders without sessions": {"kind": "relocate", "folders": [["{home}/a", "{precious}"]], "files": []},
    "a pair of three": {"kind": "moves", "moves": [["a", "b", "c"]]},
    "a packed file elsewhere": {"kind": "unpack", "temporary": "{precious}/letter.txt", "moves": [], "packed": {}},
    "an empty pack": {"kind": "pack again", "moves": [["{precious}", "{home}/x"]], "packed": None, "unpacked": {}},
    "a number for an id": {"kind": "append", "entry_id": [], "line": 3},
    "a slot without text": {"kind": "slot", "old": None, "new": 5},
}


@pytest.mark.parametrize("name", PLANS)
def test_a_record_of_another_shape_or_place_is_set_aside_and_touches_nothing(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path)
    session = store.session()
    rename(target(session), "first", context=store.context)
    precious = store.home / "precious"
    precious.mkdir()
    (precious / "letter.txt").write_text("dear")
    plan = json.dumps(PLANS[name]).replace("{precious}", str(precious)).replace("{home}", str(store.home))
    journal = store.state / "journal.jsonl"
    record = {"record": "begin", "id": "odd", "time": "", "verb": "fork", "agent": "pi", "path": str(session)}
    missing = {**record, "id": "odd2", "path": str(store.home / "2026-08-13T08-00-00-000Z_x.jsonl")}
    is_of_a_file = PLANS[name]["kind"] in ("append", "slot")
    with journal.open("a") as file:
        for each in [record] if is_of_a_file else [record, missing]:
            file.write(json.dumps({**each, "plan": json.loads(plan)}) + "\n")

    with pytest.raises(RefusedWrite, match="damaged record of an interrupted fork"):
        rename(target(session), "second", context=store.context)
    assert rename(target(session), "third", context=store.context).undo_id
    assert (precious / "letter.txt").read_text() == "dear"
    assert '"odd"' in journal.read_text()
    assert undo(context=store.context).verb == "rename"


@pytest.mark.parametrize("after", [{}, {"name": 3}, {"items": 5}])
def test_an_undo_of_a_damaged_record_says_so_and_the_next_goes_on(tmp_path: Path, after: dict[str, Any]) -> None:
    store = Store(tmp_path)
    session = store.session()
    rename(target(session), "first", context=store.context)
    record = {"record": "begin", "id": "odd", "time": "", "verb": "delete", "agent": "pi", "path": str(session)}
    label = {**record, "id": "odd3", "verb": "label"}
    with (store.state / "journal.jsonl").open("a") as file:
        for each in (record, {"record": "done", "id": "odd", "after": after}, label):
            file.write(json.dumps(each) + "\n")
        file.write(json.dumps({"record": "done", "id": "odd3", "after": {}}) + "\n")
    assert [row.undo_id for row in undoable(store.context)][:2] == ["odd3", "odd"]
    for _ in range(2):
        with pytest.raises(CannotUndo):
            undo(context=store.context)
    assert undo(context=store.context).verb == "rename"


def test_a_trash_that_a_record_names_is_a_trash(tmp_path: Path) -> None:
    store = Store(tmp_path)
    session = store.session()
    rename(target(session), "first", context=store.context)
    precious = store.home / "letter.txt"
    precious.write_text("dear")
    item = {"original": str(session), "item": str(precious), "info": str(precious), "inode": os.stat(precious).st_ino}
    record = {"record": "begin", "id": "odd", "time": "", "verb": "delete", "agent": "pi", "path": str(session)}
    done = {"record": "done", "id": "odd", "after": {"into": "trash", "items": [{**item, "size": 4}]}}
    os.rename(session, session.with_suffix(".away"))
    with (store.state / "journal.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n" + json.dumps(done) + "\n")
    with pytest.raises(CannotUndo, match="damaged"):
        undo("odd", context=store.context)
    assert precious.read_text() == "dear"
