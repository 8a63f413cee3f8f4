"""From a store to its summaries: newest first, in batches, each file once, whatever lies there."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import EVENT_STREAM
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Batch, gather_summaries, scan
from sessionbrowse.services.list.locate import locate
from sessionbrowse.store.find.discover import FoundFile, Skipped, link_parents
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.summarise import summarise_file
from tests.support.session_files import answer, entry, header, line, slot, user

PROJECT = "--home-dev-webshop--"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty sessions folder of no named agent."""
    folder = tmp_path / "agent" / "sessions"
    folder.mkdir(parents=True)
    return folder


def put(root: Path, name: str, *lines: bytes, age: int = 0, folder: str = PROJECT) -> Path:
    """Write a session that is `age` seconds older than others."""
    path = root / folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    os.utime(path, (1_790_000_000 - age,) * 2)
    return path


def scope(root: Path, **more: object) -> Scope:
    around = Surroundings(home=str(root.parent.parent), environ={}, cwd=str(root))
    return Scope(around=around, roots=(str(root),), **more)  # type: ignore[arg-type]


def batches(root: Path, **more: object) -> list[Batch]:
    return list(scan(scope(root, **more)))


def by_name(root: Path, **more: object) -> dict[str, Summary]:
    return {Path(summary.path).stem: summary for summary in gather_summaries(scope(root, **more))}


# ---- order and progress ------------------------------------------------------------------------------------------


def test_files_come_newest_first_and_the_first_row_does_not_wait(root: Path):
    for number in range(20):
        put(root, f"s{number:02}", header(id=f"s{number}"), age=number)
    found = batches(root)
    assert [summary.id for batch in found for summary in batch.summaries] == [f"s{number}" for number in range(20)]
    assert len(found[0].summaries) == 1
    assert (found[-1].done, found[-1].total) == (20, 20)
    assert [batch.done for batch in found] == sorted(batch.done for batch in found)


def test_an_empty_store_gives_one_empty_batch(root: Path):
    assert batches(root) == [Batch([], 0, 0)]


def test_a_scan_stops_where_it_is_told_to(root: Path):
    for number in range(5):
        put(root, f"s{number}", header(), age=number)
    read: list[str] = []

    def make(file: FoundFile) -> Summary | None:
        read.append(file.path)
        return summarise_file(file)

    found = list(scan(scope(root), cancelled=lambda: len(read) >= 2, summarise=make))
    assert len(read) == 2
    assert sum(len(batch.summaries) for batch in found) == 1


def test_a_file_that_vanishes_while_the_scan_runs_is_left_out(root: Path):
    first, second = put(root, "first", header()), put(root, "second", header(), age=1)

    def make(file: FoundFile) -> Summary | None:
        if file.path == str(first):
            second.unlink()
        return summarise_file(file)

    found = list(scan(scope(root), summarise=make))
    assert [summary.path for batch in found for summary in batch.summaries] == [str(first)]
    assert (found[-1].done, found[-1].total) == (1, 2) or found[-1].done == 2


def test_several_processes_find_what_one_finds(root: Path, monkeypatch: pytest.MonkeyPatch):
    dice = random.Random(5)
    for number in range(40):
        lines = [user("a", None, f"q{number} \u2028 é"), answer("b", "a")] * dice.randint(0, 30)
        put(root, f"s{number:02}", header(id=f"s{number}"), *lines, age=number)
    alone = {summary.path: summary for summary in gather_summaries(scope(root))}
    monkeypatch.setattr("sessionbrowse.store.read.worker_processes.workers_for", lambda _: 2)
    together = {summary.path: summary for summary in gather_summaries(scope(root), processes=True)}
    assert together == alone


# ---- whose and what ----------------------------------------------------------------------------------------------


def test_whose_a_file_is_is_decided_by_marks_anywhere_in_it(root: Path):
    padding = user("a", None, "x" * 100_000)
    put(root, "plain", header(), padding)
    put(root, "omp slot", slot("t"), header(), padding)
    put(root, "omp late", header(), padding, entry("title_change", "b", "a", title="t"))
    put(root, "atomic late", header(), padding, entry("session_summary", "b", "a", summary="s"))
    put(root, "both", header(), padding, entry("session_summary", "b", "a"), entry("session_init", "c", "b"))
    put(root, "omp folder", header(), padding, folder="-webshop")
    found = by_name(root)
    assert {name: summary.agent for name, summary in found.items()} == {
        "plain": "pi",
        "omp slot": "omp",
        "omp late": "omp",
        "atomic late": "atomic",
        "both": "omp",
        "omp folder": "omp",
    }
    # What `show`, `tree`, `context` and `resume` open a session as is what the list calls it.
    for summary in found.values():
        assert locate(summary.path, scope(root)).agent == summary.agent
    told = {name: summary.agent for name, summary in by_name(root, agents=("indusagi",)).items()}
    assert {name for name, agent in told.items() if agent == "indusagi"} == {"plain"}


def test_files_that_are_no_sessions_are_listed_with_a_sentence(root: Path):
    put(root, "events", header(), line({"type": "agent_start"}))
    put(root, "empty")
    put(root, "headless", user("a", None), answer("b", "a"))
    put(root, "null", header(), user("a", None, None))
    (root / "loose.jsonl").write_bytes(header())
    problems = {name: summary.problem for name, summary in by_name(root).items()}
    assert problems == {
        "events": EVENT_STREAM,
        "empty": "pi does not list this file: there is no session header",
        "headless": "pi does not list this file: its first record is no session header",
        "null": "pi hides this file from its list: the message's content is null",
        "loose": "pi lists only sessions in the folders below this directory",
    }
    assert by_name(root)["headless"].first_message == "question"


def test_hidden_sessions_come_only_when_asked(root: Path):
    stage = {"internal": True, "workflow": {"runId": "r", "stageId": "s", "stageName": "n"}}
    put(root, "stage", header(**stage))
    parent = put(root, "parent", header())
    put(root, "Scout", slot(), header(id="c"), folder=f"{PROJECT}/parent")
    assert set(by_name(root)) == {"parent"}
    found = by_name(root, hidden=True)
    assert {name: summary.hidden for name, summary in found.items()} == {"parent": False, "Scout": True, "stage": True}
    assert found["Scout"].parent_path == str(parent)


def test_an_omp_session_without_title_prompt_and_answer_is_hidden_as_in_omp(root: Path):
    image = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}
    called = entry("message", "b", "a", message={"role": "assistant", "content": [call]})
    shown = {
        "talked": [slot(""), header(), user("a", None)],
        "titled": [slot("A title"), header()],
        "answered": [slot(""), header(), user("a", None, image), called, user("c", "b", image)],
    }
    stubs = {
        "header": [slot(""), header()],
        "image": [slot(""), header(), user("a", None, image)],
        "blank": [slot(""), header(), user("a", None, " \n")],
        "settings": [slot(""), header(), entry("model_change", "a", None, model="p/m")],
    }
    for number, (name, lines) in enumerate((shown | stubs).items()):
        os.utime(put(root, name, *lines), (number, number))
    assert set(by_name(root)) == set(shown)
    assert set(by_name(root, hidden=True)) == {*shown, *stubs}
    assert Path(locate("latest", scope(root)).path).stem == "answered"
    put(root, "header", *stubs["header"], user("a", None, "first prompt"))
    put(root, "pi", header())  # pi's list has such sessions.
    assert set(by_name(root)) == {*shown, "pi", "header"}


def test_what_cannot_be_looked_at_is_told(root: Path):
    os.mkfifo(root / "pipe.jsonl")
    put(root, "s", header())
    told: list[Skipped] = []
    assert len(gather_summaries(scope(root), skipped=told.append)) == 1
    assert told == [Skipped(str(root / "pipe.jsonl"), "the path is not a regular file")]


def test_the_settings_of_a_sessions_project_name_further_places(tmp_path: Path):
    home, project, custom = tmp_path / "home", tmp_path / "project", tmp_path / "custom"
    sessions = home / ".pi" / "agent" / "sessions"
    put(sessions, "known", header(cwd=str(project)))
    (project / ".pi").mkdir(parents=True)
    (project / ".pi" / "settings.json").write_bytes(line({"sessionDir": str(custom)}))
    put(custom.parent, "elsewhere", header(cwd=str(project)), folder="custom")
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    found = list(scan(Scope(around=around)))
    assert [Path(summary.path).stem for batch in found for summary in batch.summaries] == ["known", "elsewhere"]


# ---- parents -----------------------------------------------------------------------------------------------------


def linked(*summaries: Summary) -> dict[str, str | None]:
    return {Path(summary.path).stem: summary.parent_path for summary in link_parents(summaries)}


def test_parents_are_found_by_path_by_id_and_by_the_name_of_a_file_that_moved(tmp_path: Path):
    (tmp_path / "old.jsonl").write_bytes(header())
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "old.jsonl")
    old = Summary(agent="omp", path=str(tmp_path / "old.jsonl"), id="id-1")

    def child(parent: str | None, agent: str = "omp") -> Summary:
        return Summary(agent=agent, path="/new/child.jsonl", parent_session=parent)

    assert linked(old, child(old.path)) == {"child": old.path}
    assert linked(old, child(str(tmp_path / "link.jsonl"))) == {"child": old.path}
    assert linked(old, child("id-1")) == {"child": old.path}
    assert linked(old, child("/moved/old.jsonl")) == {"child": old.path}
    assert linked(old, child("id-1", "pi")) == {}
    assert linked(old, child("/gone.jsonl")) == linked(old, child(None)) == linked(old, child("")) == {}
    assert linked(old, child("/new/child.jsonl")) == {}, "no session is its own parent"


def test_the_last_batch_brings_the_parents(root: Path):
    old = put(root, "old", header(), age=9)
    put(root, "child", header(parentSession=str(old)))
    assert by_name(root)["child"].parent_path == str(old)


def test_a_named_file_that_is_gone_is_unreadable(root: Path):
    from sessionbrowse.store.read.session_file import open_session

    path = put(root, "s", header())
    located = locate(str(path), scope(root))
    path.unlink()
    with pytest.raises(Unreadable):
        open_session(located.path, located.agent)
