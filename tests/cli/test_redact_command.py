"""`redact` and `export --redact`: what they list, ask, write and refuse."""

from __future__ import annotations

import builtins
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.services.clean.secret_detector import SecretDetector
from tests.support.change_helpers import header, line, user

pytestmark = pytest.mark.slow

pytest.importorskip("kingfisher_sdk", reason="the optional package is not installed")

SECRET = "glpat-Ab3dEf6hIj9kLm2nOp5q"
OTHER = "glpat-Zz9yEf6hIj9kLm2nOp5q"


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def compiled_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules as the package keeps them once it has compiled them, which takes seconds."""
    cache = tmp_path_factory.mktemp("rules")
    SecretDetector(str(cache))
    return cache


@pytest.fixture(autouse=True)
def rules_in_the_cache(compiled_rules: Path, own_home: Path) -> None:
    shutil.copytree(compiled_rules, own_home / ".cache" / "sessionbrowse" / "secrets")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with two secrets and a user name, in a folder of its own."""
    path = tmp_path / "store" / "session.jsonl"
    path.parent.mkdir()
    lines = [header(cwd="/home/zaphod/x"), user("00000001", None, f"use {SECRET}"), user("00000002", "00000001", OTHER)]
    path.write_bytes(b"".join(map(line, lines)))
    return path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line."""
    status = main(list(arguments))
    out, err = capfd.readouterr()
    return status, out, err


def test_a_dry_run_lists_each_secret_with_context_and_writes_nothing(
    session: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
):
    to = tmp_path / "copy.jsonl"
    status, out, err = run(capfd, "redact", str(session), "--to", str(to), "--dry-run", "--json")
    document = json.loads(out)
    assert (status, document["done"], to.exists()) == (0, None, False)
    assert sum(one["count"] for one in document["masks"]) == 4
    assert "use »glpa…(26 characters)«" in err
    assert SECRET not in err


def test_without_a_decision_nothing_is_written(
    session: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    to = tmp_path / "copy.jsonl"
    status, _, err = run(capfd, "redact", str(session), "--to", str(to))
    assert (status, "--yes" in err, to.exists()) == (1, True, False)
    for typed in ("", "m\n", "m\nq\n", "?\n"):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", Terminal())
            assert main(["redact", str(session), "--to", str(to)]) == 1
        assert not to.exists()


def test_a_review_masks_and_keeps(session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    to = tmp_path / "copy.jsonl"
    screen = Terminal()

    # The rows are the home directory, the name, and the two secrets.
    monkeypatch.setattr(sys, "stdin", Terminal("m\nm\nk\nm\n"))
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["redact", str(session), "--to", str(to)]) == 0
    copy = to.read_text()
    assert SECRET in copy
    assert "zaphod" not in copy
    assert OTHER not in copy
    assert "4/4" in screen.getvalue()


@pytest.mark.parametrize("form", ["html", "markdown", "jsonl", "json"])
def test_every_form_of_export_is_masked(session: Path, capfd: pytest.CaptureFixture[str], form: str):
    status, out, _ = run(capfd, "export", str(session), "--format", form, "--redact", "--yes")
    assert status == 0
    for gone in (SECRET, OTHER, "zaphod"):
        assert gone not in out
    assert "use" in out
    assert run(capfd, "export", str(session), "--format", form, "--redact")[:2] == (1, "")


def test_an_export_up_to_an_entry_is_masked(session: Path, capfd: pytest.CaptureFixture[str]):
    out = run(capfd, "export", str(session), "--format", "json", "--at", "00000001", "--redact", "--yes")[1]
    document = json.loads(out)
    assert [one["id"] for one in document["entries"]] == ["00000001"]
    assert document["path"].endswith("store/session.jsonl")


def test_without_the_package_the_install_line_is_named(
    session: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("kingfisher_sdk"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    status, out, err = run(capfd, "redact", str(session), "--to", str(tmp_path / "copy.jsonl"), "--yes")
    assert (status, out) == (1, "")
    assert "pip install 'sessionbrowse[redact]'" in err
    assert not (tmp_path / "copy.jsonl").exists()


def test_wrong_settings_refuse_because_own_patterns_may_be_missing(
    session: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = tmp_path / "config.toml"
    settings.write_text('redact_patterns = "ticket"')
    monkeypatch.setenv("SESSIONBROWSE_CONFIG", str(settings))
    to = tmp_path / "copy.jsonl"
    status, _, err = run(capfd, "redact", str(session), "--to", str(to), "--yes")
    assert (status, "redact_patterns" in err, to.exists()) == (1, True, False)


def test_the_context_of_a_secret_does_not_show_another(
    session: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
):
    session.write_bytes(line(header(cwd="/")) + line(user("00000001", None, f"first {SECRET} then {OTHER} end")))
    _, _, err = run(capfd, "redact", str(session), "--to", str(tmp_path / "copy.jsonl"), "--dry-run")
    assert (SECRET in err, OTHER in err) == (False, False)
    assert err.count("characters)«") == 2
