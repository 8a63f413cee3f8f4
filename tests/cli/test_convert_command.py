"""The command `convert`: what it prints, and that `--strict` and `--dry-run` write nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse import convert_session
from sessionbrowse.cli import main
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import CONVERSATION, assistant, header, line, user

LOSSY = [user("00000001", None, "hi"), assistant("00000002", "00000001", "no", stopReason="aborted")]


@pytest.fixture
def lossy(own_home: Path) -> Path:
    return session(own_home, LOSSY)


def session(home: Path, entries: object) -> Path:
    path = home / ".pi/agent/sessions/--projects-webshop--/2026-08-13T08-00-00-000Z_019beea5.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(line(header(cwd=str(home))) + b"".join(map(line, entries)))  # type: ignore[call-overload]
    return path


def test_convert_prints_the_new_path_and_says_what_is_lost(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(lossy), "--to", "omp"]) == 0
    out, err = capsys.readouterr()
    assert [*open_session(out.strip()).ids] == ["00000001", "00000002"]
    assert "Changes what the model sees:\n" in err
    assert "  aborted or failed answers" in err
    assert "2 entries carried to omp." in err


def test_a_dry_run_prints_only_the_losses(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(lossy), "--to", "omp", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("Changes what the model sees:\n  aborted or failed answers")
    assert not (lossy.parents[4] / ".omp").exists()


def test_strict_writes_nothing_if_the_model_sees_a_difference(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(lossy), "--to", "omp", "--strict"]) == 1
    assert "would see a difference" in capsys.readouterr().err
    assert not (lossy.parents[4] / ".omp").exists()


def test_strict_carries_a_session_that_the_model_sees_the_same(own_home: Path) -> None:
    path = session(own_home, [one for one in CONVERSATION if one["type"] != "model_change"])
    assert main(["convert", str(path), "--to", "omp", "--strict"]) == 0


def test_the_document_names_both_agents_and_the_losses(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(lossy), "--to", "omp", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["done"], document["from"], document["to"], document["entries"]) == ("convert", "pi", "omp", 2)
    assert document["losses"][:1] == [{"kind": "failed_answer", "count": 1, "entries": ["00000002"], "context": True}]
    assert main(["undo", document["undo_id"]]) == 0
    assert not Path(document["path"]).exists()


def test_an_agent_cannot_carry_a_session_that_is_hidden_from_it(
    lossy: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = own_home / ".config" / "sessionbrowse" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[not_for_agents]\ndirectories = ["{own_home}"]\n')
    assert main(["convert", str(lossy), "--to", "omp"]) == 0
    made = capsys.readouterr().out.strip()
    monkeypatch.setenv("PI_CODING_AGENT", "1")
    assert main(["convert", str(lossy), "--to", "atomic"]) == 1
    assert main(["convert", made, "--to", "pi"]) == 1
    assert not (own_home / ".atomic").exists()


def test_the_library_returns_what_the_command_prints(lossy: Path) -> None:
    told = convert_session(lossy, "omp", dry_run=True)
    assert told["done"] is None
    made = convert_session(lossy, "omp")
    assert Path(made["path"]).exists()
    assert convert_session(lossy, "omp")["entries"] == 0
