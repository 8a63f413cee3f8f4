"""The real pi and omp read what our renames, labels and check outs leave, and go on from there (`make interop`)."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import InUse, UnsafeEntry
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.inspect.documents import context_document
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.interop import real
from tests.interop.manage import ask_manager
from tests.support.file_helpers import own_system_trash, picture

pytestmark = pytest.mark.interop

Json = Any
PROGRAMS = real.PROGRAMS
SEED = 314
NAMES = ["Release notes", "日本語 — Größe", 'a "quoted" \\ name', "😀 \u202e odd", "  spaces\nand lines  "]
SLOT_BYTES = 256


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: "-".join(program))
def program(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A real program and its version."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture(scope="module")
def written(program: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sessions that the program wrote."""
    agent, version = program
    folder = tmp_path_factory.mktemp("written") / "all"
    try:
        if agent == "omp":
            real.generate_omp(folder, SEED, 110, version)
        else:
            real.generate_pi(version, folder, SEED, 110)
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    return folder


@pytest.fixture
def sessions(program: tuple[str, str], written: Path, tmp_path: Path) -> list[Path]:
    """Copies of at least a hundred of them that the program can go on with, each in a folder of its own."""
    found = []
    for number, path in enumerate(sorted(written.glob("**/*.jsonl"))):
        session = open_session(path, program[0])
        if session.refusal is None and session.version == 3 and session.leaf_id is not None:
            own = tmp_path / "sessions" / f"{number:03}"
            own.mkdir(parents=True)
            found.append(Path(shutil.copy2(path, own / path.name)))
    assert len(found) >= 100
    return found


@pytest.fixture
def context(tmp_path: Path) -> ChangeContext:
    """A change context that knows nothing of this machine; its clock is far ahead, so that no file is new."""
    around = Surroundings(home=str(tmp_path / "home"), environ={}, cwd=str(tmp_path))
    return ChangeContext.at(around, str(tmp_path / "state" / "sessionbrowse"), lambda: 1_900_000_000_000.0)


def read_by(program: tuple[str, str], paths: list[Path], scratch: Path) -> list[dict[str, Json]]:
    """Return what the program says of copies of the files, for it may repair what it opens."""
    copies = scratch / f"copies{random.getrandbits(64):x}"
    requests = []
    for path in paths:
        folder = copies / path.parent.name
        folder.mkdir(parents=True)
        requests.append({"op": "read", "file": str(shutil.copy2(path, folder / path.name))})
    return ask_manager(*program, requests, scratch)


def said(answer: dict[str, Json]) -> dict[str, Json]:
    """Return what no rename or label may change."""
    return {"context": answer["context"], "header": without_title(answer["header"])}


def without_title(header: dict[str, Json]) -> dict[str, Json]:
    """omp folds its slot into the header that it shows."""
    return {key: value for key, value in header.items() if key not in ("title", "titleSource")}


def test_our_names_are_shown_and_nothing_else_changes(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path, context: ChangeContext
) -> None:
    before = read_by(program, sessions, tmp_path)
    contents = [path.read_bytes() for path in sessions]
    times = [path.stat().st_mtime_ns for path in sessions]
    renamed = [
        rename(Target(str(path), program[0]), NAMES[number % len(NAMES)], context=context)
        for number, path in enumerate(sessions)
    ]
    after = read_by(program, sessions, tmp_path)
    for path, old, new, content, mtime, answer in zip(sessions, before, after, contents, times, renamed, strict=True):
        assert new["name"] == answer.name, path
        assert said(new) == said(old), path
        assert new["labels"] == old["labels"], path
        if program[0] == "omp":
            assert path.read_bytes()[SLOT_BYTES:] == without_slot(content), path
            assert (new["entries"], new["branch"], new["titleSource"]) == (old["entries"], old["branch"], "user"), path
            assert path.stat().st_mtime_ns == mtime + 1_000_000, path
        else:
            assert path.read_bytes().startswith(content), path
            assert (new["entries"][:-1], new["branch"][:-1]) == (old["entries"], old["branch"]), path
            assert path.stat().st_mtime_ns == mtime, path
    for _ in sessions:
        undo(context=context)
    undone = read_by(program, sessions, tmp_path)
    for path, old, new in zip(sessions, before, undone, strict=True):
        assert (new["name"] or "").strip() == (old["name"] or "").strip(), path
        assert said(new) == said(old), path


def without_slot(content: bytes) -> bytes:
    """Return what stands behind the title slot, if there is one."""
    return content[SLOT_BYTES:] if content.startswith(b'{"type":"title"') else content


def test_our_labels_are_shown_and_nothing_else_changes(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path, context: ChangeContext
) -> None:
    before = read_by(program, sessions, tmp_path)
    contents = [path.read_bytes() for path in sessions]
    chooser = random.Random(SEED)
    chosen = [chooser.choice(old["entries"])["id"] for old in before]
    for number, (path, entry_id) in enumerate(zip(sessions, chosen, strict=True)):
        label(Target(str(path), program[0]), entry_id, f"mark {number} – é", context=context)
    after = read_by(program, sessions, tmp_path)
    for number, (path, old, new) in enumerate(zip(sessions, before, after, strict=True)):
        assert new["labels"] == old["labels"] | {chosen[number]: f"mark {number} – é"}, path
        assert (said(new), new["name"]) == (said(old), old["name"]), path
        assert (new["entries"][:-1], new["branch"][:-1]) == (old["entries"], old["branch"]), path
        assert path.read_bytes().startswith(contents[number]), path
    for _ in sessions:
        undo(context=context)
    undone = read_by(program, sessions, tmp_path)
    for path, old, new in zip(sessions, before, undone, strict=True):
        assert (new["labels"], said(new)) == (old["labels"], said(old)), path


def test_they_resume_where_we_checked_out_and_go_on_there(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path, context: ChangeContext
) -> None:
    before = read_by(program, sessions, tmp_path)
    contents = [path.read_bytes() for path in sessions]
    chooser = random.Random(SEED)
    expected = []
    for path, old in zip(sessions, before, strict=True):
        entry_id = chooser.choice([entry["id"] for entry in old["entries"]])
        target = Target(str(path), program[0])
        try:
            answer = checkout(target, entry_id, force=True, context=context)
        except UnsafeEntry as refused:
            answer = checkout(target, refused.nearest or "", force=True, context=context)
        session = open_session(path, program[0])
        at = session.index_by_id[answer.at] if answer.at is not None else None
        way = [session.envelopes[index].id for index in session.branch(at)]
        if answer.undo_id is not None:
            way.append(answer.leaf_id)
        expected.append((way, context_document(session, session.leaf)))
    after = read_by(program, sessions, tmp_path)
    for path, old, new, content, (way, wanted) in zip(sessions, before, after, contents, expected, strict=True):
        assert path.read_bytes().startswith(content), path
        if way[-1] in {entry["id"] for entry in old["entries"]}:
            continue  # it stood there already
        assert new["branch"] == way, path
        assert [message["role"] for message in new["context"]["messages"]] == [
            message["role"] for message in wanted["messages"]
        ], path
        assert (new["context"]["thinkingLevel"] or "off") == (wanted["thinking_level"] or "off"), path
        if program[0] == "pi":
            model = new["context"]["model"]
            ours = wanted["model"]
            assert (model and [model["provider"], model["modelId"]]) == (ours and list(ours.values())), path
        assert (new["name"], new["labels"]) == (old["name"], old["labels"]), path
        assert new["entries"][:-1] == old["entries"], path
    requests = [{"op": "continue", "file": str(path)} for path in sessions]
    for path, (way, _), answer in zip(sessions, expected, ask_manager(*program, requests, tmp_path), strict=True):
        assert answer["before"] == way, path
        assert answer["after"]["branch"][:-2] == way, path


def test_moved_archived_and_deleted_sessions_are_read_as_before(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path, context: ChangeContext
) -> None:
    own_system_trash()
    before = read_by(program, sessions, tmp_path)
    store = picture(tmp_path / "sessions")
    scope = Scope(around=context.around, roots=(str(tmp_path / "sessions"),), agents=(program[0],))
    places = {str(path): str(path) for path in sessions}
    directories = {path: open_session(path, program[0]).cwd for path in places}
    steps: list[str | None] = []
    while left := sorted({cwd for cwd in directories.values() if cwd.startswith("/") and "/moved/" not in cwd}):
        moved = relocate(left[0], f"/moved/{len(steps)}/ö x", scope, context=context)
        for one in moved.sessions:
            (first,) = [path for path, place in places.items() if place == one.source]
            places[first], directories[first] = one.target, one.new_cwd
        steps.append(moved.undo_id)
    assert steps
    there = [Path(places[str(path)]) for path in sessions]
    for path in there:
        archived = archive(Target(str(path), program[0]), context=context)
        unarchive(Target(archived.path, program[0]), context=context)
        restore(delete(Target(str(path), program[0]), context=context).undo_id, context=context)
    requests = [{"op": "read", "file": str(path)} for path in there]
    for old, new, path in zip(before, ask_manager(*program, requests, tmp_path), sessions, strict=True):
        assert new["header"].get("cwd", "") == directories[str(path)] or not directories[str(path)], path
        assert [new[key] for key in ("context", "entries", "branch", "labels", "name")] == [
            old[key] for key in ("context", "entries", "branch", "labels", "name")
        ], path
    for step in reversed(steps):
        undo(step, context=context)
    assert picture(tmp_path / "sessions") == store
    print(f"{len(sessions)} sessions moved in {len(steps)} steps, archived, deleted and brought back")


# ---- a running omp -----------------------------------------------------------------------------------------


@pytest.fixture
def omp(tmp_path: Path) -> Iterator[Running]:
    """A running omp that holds a session of its own making."""
    try:
        folder = real.omp_folder()
        real.generate_omp(tmp_path / "made", SEED, 5)
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    source = max((tmp_path / "made").glob("agent/sessions/*/*.jsonl"), key=lambda path: path.stat().st_size)
    path = Path(shutil.copy2(source, tmp_path / source.name))
    command = [folder / "node_modules/@oven/bun-linux-x64/bin/bun", folder / "live.ts", path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        running = Running(path, process)
        assert running.answer()["ready"]
        yield running
        running.ask("close")


class Running:
    """A real omp that does what it is told."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.path = path
        self._process = process

    def ask(self, op: str, **arguments: Json) -> dict[str, Json]:
        """Tell it something and return its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Json]:
        """Return its next answer."""
        assert self._process.stdout is not None
        answer: dict[str, Json] = json.loads(self._process.stdout.readline())
        return answer


def test_a_running_omp_never_loses_its_ability_to_save(omp: Running, context: ChangeContext) -> None:
    target = Target(str(omp.path), "omp")
    first = open_session(omp.path, "omp").envelopes[0].id or ""
    for turn in range(30):
        assert rename(target, f"named from outside {turn}", context=context).undo_id
        assert omp.ask("append", text=f"question {turn}")["ok"]
        assert rename(target, f"and again {turn}", context=context).undo_id
        # It has appended, so it holds the file: nothing may be added.
        with pytest.raises(InUse, match="has the file open for writing"):
            label(target, first, "mark", context=context)
        with pytest.raises(InUse):
            checkout(target, first, context=context)
        assert omp.ask("answer", text=f"answer {turn}")["ok"]
        if turn % 3 == 0:
            assert omp.ask("rewrite")["ok"]
            assert rename(target, f"after a rewrite {turn}", context=context).undo_id
    assert omp.ask("flush")["ok"]
    session = open_session(omp.path, "omp")
    texts = [context["text"] for context in context_document(session)["messages"]]
    assert [f"answer {turn}" in texts for turn in range(30)] == [True] * 30
    assert session.problems == ()
    assert not os.path.exists(omp.path.parent / f".{omp.path.name}.lock")
