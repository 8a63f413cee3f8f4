"""`rename`, `label`, `checkout` and `undo` on the command line: what they print, and with which status they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import CONVERSATION, Store, assistant, entry, line


@pytest.fixture
def store(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path)
    store.home.rmdir()
    store.home.symlink_to(own_home)
    return store


def asked(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    said = capfd.readouterr()
    return status, said.out, said.err


def test_a_session_is_renamed_by_path_or_id_and_the_answer_can_be_undone(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = store.session()
    status, out, err = asked(capfd, "rename", str(path), "new name", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert document == {
        "done": "rename",
        "path": str(path.resolve()),
        "undo_id": document["undo_id"],
        "notes": [],
        "name": "new name",
    }
    status, out, err = asked(capfd, "rename", "019beea5", "by its id")
    assert (status, out, err) == (0, "", 'sessionbrowse: named "by its id"\n')
    assert open_session(path).name == "by its id"
    _, out, _ = asked(capfd, "undo", "--list", "--json")
    assert [(row["verb"], row["summary"]) for row in json.loads(out)] == [
        ("rename", '"new name" → "by its id"'),
        ("rename", 'none → "new name"'),
    ]
    _, out, _ = asked(capfd, "undo", "--json")
    assert (json.loads(out)["done"], json.loads(out)["verb"]) == ("undo", "rename")
    assert open_session(path).name == "new name"
    asked(capfd, "undo", document["undo_id"])
    assert open_session(path).name is None
    assert asked(capfd, "undo") == (1, "", "sessionbrowse: There is nothing to undo.\n")


def test_a_label_is_set_and_cleared(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    path = store.session("omp")
    status, out, _ = asked(capfd, "label", str(path), "00000003", "a mark", "--json")
    assert status == 0
    assert {key: json.loads(out)[key] for key in ("done", "entry_id", "label")} == {
        "done": "label",
        "entry_id": "00000003",
        "label": "a mark",
    }
    assert asked(capfd, "label", str(path), "a mark", "--clear", "--force")[0] == 0
    assert open_session(path).labels == {}


def test_a_check_out_prints_the_text_that_is_handed_back(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    path = store.session()
    status, out, err = asked(capfd, "checkout", str(path), "00000007")
    assert (status, out, err) == (0, "second question\n", "sessionbrowse: resumes at 00000006\n")
    status, out, _ = asked(capfd, "checkout", str(path), "00000008", "--json")
    document = json.loads(out)
    assert (document["text"], document["at"]) == (None, "00000008")
    assert document["leaf_id"] == open_session(path).leaf_id


def test_refusals_end_with_one_sentence_and_status_1(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    path = store.session(entries=[*CONVERSATION, assistant("00000009", "00000008", "I", ["open"])])
    before = path.read_bytes()
    status, out, err = asked(capfd, "checkout", str(path), "00000009", "--json")
    assert (status, out) == (1, "")
    assert err.startswith("sessionbrowse: Entry 00000009 is between a tool call and its result")
    assert asked(capfd, "rename", str(path), "")[0] == 1
    assert asked(capfd, "rename", "/nowhere/x.jsonl", "x")[0] == 1
    assert asked(capfd, "label", str(path), "ffff", "x")[0] == 1
    assert path.read_bytes() == before


def test_a_refused_undo_names_the_command_that_undoes_the_change_before_it(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = store.session()
    asked(capfd, "label", str(path), "00000003", "mark", "--force")
    _, out, _ = asked(capfd, "undo", "--list", "--json")
    (earlier,) = [row["undo_id"] for row in json.loads(out)]
    asked(capfd, "rename", str(path), "ours", "--force")
    with path.open("ab") as file:
        file.write(line(entry("session_info", "0000000f", "00000008", name="theirs")))
    status, _, err = asked(capfd, "undo", "--force")
    assert status == 1
    assert 'its name is "theirs" now' in err
    assert err.endswith(f" To undo the previous change: sessionbrowse undo {earlier}.\n")
    assert asked(capfd, "undo", earlier, "--force")[0] == 0
    assert open_session(path).labels == {}


@pytest.mark.parametrize(
    "words",
    [
        ("rename", "x.jsonl"),
        ("rename", "x.jsonl", "name", "--clear"),
        ("label", "x.jsonl", "00000003"),
        ("checkout", "x.jsonl"),
        ("undo", "--lst"),
    ],
)
def test_wrong_usage_ends_with_status_2(
    store: Store, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert asked(capfd, *words)[0] == 2


def test_who_may_be_writing_is_named_with_the_option_that_goes_on(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = store.session("omp")
    path.touch()
    status, _, err = asked(capfd, "label", str(path), "00000003", "x")
    assert status == 1
    assert "stops saving for good" in err
    assert err.endswith("--force does it anyway.\n")
    status, _, err = asked(capfd, "label", str(path), "00000003", "x", "--force")
    assert status == 0
    assert "Forced although the session changed" in err


def test_a_session_found_by_its_id_must_lie_below_a_root(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    path = store.session()
    outside = store.folder / "outside.jsonl"
    path.rename(outside)
    path.symlink_to(outside)
    status, _, err = asked(capfd, "rename", "019beea5", "x")
    assert status == 1
    assert "outside the directory in which it was found" in err
    assert open_session(outside).name is None


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize(
    "foreign",
    [
        entry("title_change", "00000009", "00000008", title="of omp", source="user"),
        entry("mode_change", "00000009", "00000008", mode="plan"),
        entry("session_summary", "00000009", "00000008", summary="of atomic"),
    ],
    ids=lambda value: str(value["type"]),
)
def test_a_file_with_an_entry_of_another_agent_stays_readable_for_the_agent_in_whose_store_it_lies(
    store: Store, capfd: pytest.CaptureFixture[str], agent: str, foreign: dict[str, object]
) -> None:
    path = store.session(agent, [*CONVERSATION, foreign])
    words = ["--agent", agent, "--json"]
    (row,) = json.loads(asked(capfd, "list", *words)[1])
    assert (row["agent"], row["path"]) == (agent, str(path.resolve()))
    assert asked(capfd, "rename", str(path), "new name", "--force")[0] == 0
    assert asked(capfd, "label", str(path), "00000003", "mark", "--force")[0] == 0
    assert asked(capfd, "checkout", str(path), "00000008", "--force")[0] == 0
    forked = json.loads(asked(capfd, "fork", str(path), "--cwd", str(store.folder), "--json")[1])
    for each in (path, Path(forked["path"])):
        session = open_session(each, agent)
        assert (session.refusal, session.unlisted, session.name) == (None, None, "new name")
    rows = json.loads(asked(capfd, "list", *words)[1])
    assert [(row["agent"], row["name"]) for row in rows] == [(agent, "new name")] * 2
