"""`prune` and `shrink`: what they print, ask and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from tests.support.change_helpers import CONVERSATION, header, line, user
from tests.support.random_trees import RandomTree


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with an abandoned branch, in a folder of its own."""
    path = tmp_path / "store" / "session.jsonl"
    path.parent.mkdir()
    lines = [header(), *CONVERSATION[:6], user("abandone", "00000006", "wrong way"), *CONVERSATION[6:]]
    path.write_bytes(b"".join(map(line, lines)))
    return path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line."""
    status = main(list(arguments))
    out, err = capfd.readouterr()
    return status, out, err


def test_prune_prints_the_document_and_undo_brings_all_back(session: Path, capfd: pytest.CaptureFixture[str]):
    was = session.read_bytes()
    status, out, _ = run(capfd, "prune", str(session), "--abandoned", "--in-place", "--json", "--dry-run")
    preview = json.loads(out)
    assert (status, preview["done"], preview["undo_id"], preview["to"]) == (0, None, None, None)
    assert session.read_bytes() == was
    status, out, _ = run(capfd, "prune", str(session), "--abandoned", "--in-place", "--json")
    done = json.loads(out)
    assert done == preview | {"done": "prune", "undo_id": done["undo_id"], "notes": done["notes"]}
    assert done["removed"]["entries"] == 1
    assert done["removed"]["bytes"] == len(was) - session.stat().st_size
    assert b"abandone" not in session.read_bytes()
    run(capfd, "undo")
    assert session.read_bytes() == was


def test_prune_of_the_active_branch_names_the_new_leaf(session: Path, capfd: pytest.CaptureFixture[str]):
    was = session.read_bytes()
    status, out, err = run(capfd, "prune", str(session), "--drop", "00000007", "--in-place")
    assert (status, out) == (1, "")
    assert "would be resumed at 00000006" in err
    assert "--yes" in err
    assert session.read_bytes() == was
    assert run(capfd, "prune", str(session), "--drop", "00000007", "--in-place", "--yes")[0] == 0
    last = json.loads(session.read_bytes().splitlines()[-1])
    assert (last["type"], last["parentId"]) == ("custom", "00000006")


def test_a_copy_prints_its_path_and_leaves_the_original(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    was, to = session.read_bytes(), tmp_path / "copy.jsonl"
    status, out, _ = run(capfd, "prune", str(session), "--abandoned", "--to", str(to))
    assert (status, out) == (0, f"{to}\n")
    assert session.read_bytes() == was
    assert to.stat().st_size < len(was)
    assert run(capfd, "prune", str(session), "--abandoned", "--to", str(to))[0] == 1


def test_shrink_of_several_sessions_is_one_undo(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "store").mkdir()
    paths = [tmp_path / "store" / f"{number}.jsonl" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(RandomTree(number).content())
    was = [path.read_bytes() for path in paths]
    names = [str(path) for path in paths]
    status, out, _ = run(capfd, "shrink", *names, "--images", "--results-over", "1K", "--in-place", "--json")
    assert (status, [one["done"] for one in json.loads(out)]) == (0, ["shrink"] * 3)
    assert all(b'"type":"image"' not in path.read_bytes() for path in paths)
    run(capfd, "undo")
    assert [path.read_bytes() for path in paths] == was


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["--in-place"], 1, "Say what to shrink"),
        (["--images"], 2, "--to or --in-place is missing"),
        (["--results-over", "lots", "--in-place"], 2, "no size"),
    ],
)
def test_shrink_refuses_what_it_cannot_do(
    session: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], status: int, reason: str
):
    try:
        got = main(["shrink", str(session), *arguments])
    except SystemExit as error:
        got = int(str(error.code))
    assert (got, reason in capfd.readouterr().err) == (status, True)


@pytest.fixture
def torn(session: Path) -> Path:
    """The session with a torn line in it: the conversation before the line looks abandoned."""
    lines = session.read_bytes().splitlines(keepends=True)
    lines[6] = lines[6][: len(lines[6]) // 2] + b"\n"
    session.write_bytes(b"".join(lines))
    return session


def test_prune_of_a_damaged_session_tells_the_damage_and_offers_the_repair_first(
    torn: Path, capfd: pytest.CaptureFixture[str]
):
    was = torn.read_bytes()
    status, out, err = run(capfd, "prune", str(torn), "--abandoned", "--in-place")
    assert (status, out) == (1, "")
    assert "damaged" in err
    assert "line 7" in err
    assert "sessionbrowse doctor REF --in-place" in err
    assert "--yes" in err
    assert torn.read_bytes() == was
    status, _, err = run(capfd, "prune", str(torn), "--abandoned", "--in-place", "--dry-run")
    assert status == 0
    assert "doctor REF --in-place" in err, "a preview tells it too"
    assert run(capfd, "doctor", str(torn), "--in-place")[0] == 0
    assert "The file is damaged" not in run(capfd, "prune", str(torn), "--abandoned", "--in-place", "--dry-run")[2]


def test_shrink_of_a_damaged_session_tells_the_damage(torn: Path, capfd: pytest.CaptureFixture[str]):
    status, _, err = run(capfd, "shrink", str(torn), "--thinking", "--in-place")
    assert status == 0
    assert "line 7" in err
    assert "doctor REF --in-place" in err
