"""The real pi and omp read what our manager and forks write, and our forks equal their own (`make interop`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse import SessionManager
from sessionbrowse.agents import Surroundings
from sessionbrowse.agents.change_plans import line_name
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.transaction.change_context import ChangeContext
from tests.interop import real
from tests.interop.manage import ask_manager
from tests.interop.replay import described, replayed, without_absent

pytestmark = pytest.mark.interop

Json = Any
PROGRAMS = real.PROGRAMS
SEED = 271
INSTALLED = str(real.cache_folder())
ROUNDS = {"pi": 84, "omp": 100}


@pytest.fixture(autouse=True)
def where_the_programs_are(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the installed programs, although the home of a test is empty."""
    monkeypatch.setenv("SESSIONBROWSE_INTEROP", INSTALLED)


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: "-".join(program))
def program(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A real program and its version."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture(scope="module")
def sessions(program: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """At least a hundred sessions that the program wrote, each in a folder of its own."""
    agent, version = program
    folder = tmp_path_factory.mktemp("generated")
    try:
        if agent == "omp":
            real.generate_omp(folder / "all", SEED, ROUNDS[agent], version)
        else:
            real.generate_pi(version, folder / "all", SEED, ROUNDS[agent])
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    found = []
    for number, path in enumerate(sorted((folder / "all").glob("**/*.jsonl"))):
        if _is_old(path):
            continue
        own = folder / f"{number:03}"
        own.mkdir()
        found.append(Path(shutil.copy2(path, own / path.name)))
    assert len(found) >= 100
    return found


@pytest.fixture
def context(tmp_path: Path) -> ChangeContext:
    """A change context that knows nothing of this machine."""
    home = tmp_path / "home"
    around = Surroundings(home=str(home), environ={}, cwd=str(tmp_path))
    return ChangeContext.at(around, str(tmp_path / "state" / "sessionbrowse"), lambda: 1_800_000_000_000.0)


def test_the_programs_say_of_their_sessions_what_our_manager_says(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path
) -> None:
    agent, version = program
    answers = ask_manager(agent, version, [{"op": "read", "file": str(path)} for path in sessions], tmp_path)
    for path, theirs in zip(sessions, answers, strict=True):
        ours = described(SessionManager.open(path, agent=agent))
        assert without_absent(ours) == without_absent(theirs), path


def test_sessions_written_wholly_by_our_manager_are_read_by_them_identically(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path
) -> None:
    agent, version = program
    written, expected, sources = [], [], []
    for number, path in enumerate(sessions):
        source = SessionManager.open(path, agent=agent)
        if not _can_be_replayed(source):
            continue
        made, ids = replayed(source, tmp_path / f"made{number:03}")
        if not made.is_session_on_disk():
            continue
        written.append(Path(made.get_session_file() or ""))
        expected.append(described(SessionManager.open(written[-1], agent=agent)))
        assert made.get_entries() == expected[-1]["entries"]
        sources.append((described(SessionManager.open(path, agent=agent)), ids))
    assert len(written) >= 90
    answers = ask_manager(agent, version, [{"op": "read", "file": str(path)} for path in written], tmp_path)
    for path, ours, theirs, (source_said, ids) in zip(written, expected, answers, sources, strict=True):
        assert without_absent(ours) == without_absent(theirs), path
        assert _shape(theirs, {new: old for old, new in ids.items()}) == _shape(source_said, {}), path


def test_the_programs_go_on_where_our_manager_stood(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path
) -> None:
    agent, version = program
    made = []
    for number, path in enumerate(sessions[:40]):
        copy = Path(shutil.copytree(path.parent, tmp_path / f"{number:03}")) / path.name
        manager = SessionManager.open(copy, agent=agent, force=True)
        if manager.get_leaf_id() is None:
            continue
        manager.append_message({"role": "user", "content": "added from outside", "timestamp": 1})
        manager.append_label_change(manager.get_leaf_id() or "", "here")
        made.append((copy, [entry["id"] for entry in manager.get_branch()]))
    answers = ask_manager(agent, version, [{"op": "continue", "file": str(path)} for path, _ in made], tmp_path)
    for (path, branch), answer in zip(made, answers, strict=True):
        assert answer["before"] == branch, path
        assert answer["after"]["branch"][:-2] == branch, path
        assert len(answer["after"]["branch"]) == len(branch) + 2, path


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "at-an-entry"])
def test_a_fork_of_ours_equals_theirs_in_everything_but_ids_and_times(
    program: tuple[str, str], sessions: list[Path], tmp_path: Path, context: ChangeContext, is_whole: bool
) -> None:
    agent, version = program
    cases = list(_forks(agent, sessions, is_whole))
    assert len(cases) >= 100
    theirs_dir, ours_dir = tmp_path / "theirs", tmp_path / "ours"
    cwd = str(tmp_path)  # omp takes only a directory that is there
    requests = []
    for number, (path, at) in enumerate(cases):
        folder = theirs_dir / f"{number:03}"
        folder.mkdir(parents=True)
        requests.append({"op": "fork", "file": str(path), "at": at, "cwd": cwd, "dir": str(folder)})
    answers = ask_manager(agent, version, requests, tmp_path)
    made = []
    for number, ((path, at), answer) in enumerate(zip(cases, answers, strict=True)):
        mine = fork(str(path), agent, at=at, cwd=cwd, session_dir=str(ours_dir / f"{number:03}"), context=context)
        made.append(Path(mine.path))
        if not Path(answer["file"]).exists():
            continue  # it has no conversation yet, and is written with its first message
        _assert_same_fork(agent, path, Path(answer["file"]), Path(mine.path), at)
    readings = ask_manager(agent, version, [{"op": "read", "file": str(path)} for path in made], tmp_path)
    for path, reading in zip(made, readings, strict=True):
        ours = described(SessionManager.open(path, agent=agent))
        assert without_absent(ours) == without_absent(reading), path


def _assert_same_fork(agent: str, source: Path, theirs: Path, ours: Path, at: str | None) -> None:
    old_ids = {entry.get("id") for entry in _lines(source)}
    left, right = _normal(theirs, old_ids, agent), _normal(ours, old_ids, agent)
    if agent == "omp" and at is not None:
        # omp leaves what hung on a label without parent, and gives labels the time of the fork.
        for lines in (left, right):
            for line in lines:
                if line.get("type") == "label":
                    line.pop("timestamp")
        orphans = _orphans(left)
        for one, other in zip(left, right, strict=True):
            if one.get("id") in orphans:
                one["parentId"] = other["parentId"] = "mended"
    assert left == right, source


def _orphans(lines: list[dict[str, Json]]) -> set[str]:
    ids = {line.get("id") for line in lines}
    return {line["id"] for line in lines if line.get("parentId") is not None and line["parentId"] not in ids}


def _normal(path: Path, old_ids: set[str | None], agent: str) -> list[dict[str, Json]]:
    """Return a fork's lines with new ids numbered and the times of its making taken out."""
    lines = list(_lines(path))
    names: dict[str, str] = {}
    for line in lines:
        if line.get("type") not in ("session", "title") and line.get("id") not in old_ids:
            names[line["id"]] = f"new {len(names)}"
    for line in lines:
        if line.get("type") == "session":
            line |= {"id": "id", "timestamp": "time"}
        if line.get("type") == "title":
            line["updatedAt"] = "time"
        for key in ("id", "parentId"):
            if line.get(key) in names:
                line[key] = names[line[key]]
    return lines


def _forks(agent: str, sessions: Sequence[Path], is_whole: bool) -> Iterator[tuple[Path, str | None]]:
    for path in sessions:
        if is_whole:
            yield path, None
            continue
        manager = SessionManager.open(path, agent=agent)
        entries = manager.get_entries()
        chosen = {manager.get_leaf_id(), *(entry["id"] for entry in entries[:: max(1, len(entries) // 3)])}
        for entry_id in sorted(filter(None, chosen)):
            entry = manager.get_entry(entry_id) or {}
            is_prompt = entry.get("type") == "message" and entry["message"].get("role") == "user"
            if not is_prompt and any(entry["type"] != "label" for entry in manager.get_branch(entry_id)):
                yield path, entry_id


def _lines(path: Path) -> Iterator[dict[str, Json]]:
    for raw in path.read_bytes().split(b"\n"):
        if raw.strip():
            yield json.loads(raw)


def _is_old(path: Path) -> bool:
    header = next((line for line in _lines(path) if line.get("type") == "session"), {})
    return bool(header.get("version", 1) != 3)


def _can_be_replayed(source: SessionManager) -> bool:
    """Tell whether a session could have been written by calls alone: whole, and of kinds that there are calls for."""
    entries = source.get_entries()
    known: set[str | None] = {None}
    for entry in entries:
        if "id" not in entry or entry.get("parentId") not in known or entry["id"] in known:
            return False
        known.add(entry["id"])
        if entry["type"] == "session_info" and source.agent == "omp":
            return False
    return all(entry["type"] not in ("mcp_tool_selection", "session") for entry in entries)


def _shape(said: dict[str, Json], old_ids: dict[str, str]) -> dict[str, Json]:
    """Return what two sessions with other ids and times have in common."""

    def name(entry_id: Json) -> Json:
        return old_ids.get(entry_id, entry_id)

    messages = [
        {key: value for key, value in message.items() if key != "fromId" and _is_content(message, key)}
        for message in said["context"]["messages"]
    ]
    shape: dict[str, Json] = without_absent(
        {
            # Ours makes one line of U+2028 too. omp's older files have titles that no call gave them.
            "name": line_name(said["name"] or "") if "titleSource" not in said else None,
            "leaf": name(said["leaf"]),
            "branch": [name(entry_id) for entry_id in said["branch"]],
            "labels": {name(target): label for target, label in said["labels"].items()},
            "tree": sorted([depth, name(entry_id), label] for depth, entry_id, label, _ in said["tree"]),
            "entries": [[entry["type"], name(entry.get("parentId")), list(entry)] for entry in said["entries"]],
            "context": {key: value for key, value in said["context"].items() if key != "messages"},
            "messages": messages,
        }
    )
    return shape


def _is_content(message: dict[str, Json], key: str) -> bool:
    # A program's own messages bear the time of their entry.
    return key != "timestamp" or message["role"] not in ("custom", "compactionSummary", "branchSummary", "system")
