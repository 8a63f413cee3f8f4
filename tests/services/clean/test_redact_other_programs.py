"""Masked copies of sessions of Claude Code and Codex: their own lines, which open again as the same session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.redact import redact, review_secrets
from sessionbrowse.services.clean.secret_detector import SecretDetector
from sessionbrowse.services.export.export import FORMATS, export_redacted
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.foreign import CODEX_ID, Claude, Codex, call, jsonl, said

pytestmark = pytest.mark.slow

pytest.importorskip("kingfisher_sdk", reason="the optional package is not installed")


def detector(tmp_path: Path) -> SecretDetector:
    return SecretDetector(str(tmp_path / "rules"), [], ["alice"])


def context_of(home: Path) -> ChangeContext:
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    return ChangeContext.at(around, str(home / "state"), lambda: 2e12)


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def with_secret(folder: Path, agent: str) -> Path:
    """Return a session with a secret, a line that is no record, and an unfinished last line."""
    if agent == "claude":
        file = Claude(cwd="/home/alice/app")
        file.user(f"use {SECRET}")
        file.answer("a", said("I look"), call("x", command=f"curl -H {SECRET}"))
        file.result("x", f"token: {SECRET}")
        records = file.records
    else:
        rollout = Codex(cwd="/home/alice/app")
        rollout.prompt(f"use {SECRET}")
        rollout.call("c", f"token: {SECRET}")
        rollout.answer(f"I used {SECRET}")
        records = rollout.records
    path = folder / f"rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl" if agent == "codex" else folder / "s.jsonl"
    content = jsonl(records)
    first, _, others = content.partition(b"\n")
    path.write_bytes(first + b"\nno record\n" + others + b'{"type":"user","uu')
    return path


def compressed(path: Path) -> Path:
    """Compress a session of Codex as Codex does."""
    content = pytest.importorskip("zstandard").ZstdCompressor().compress(path.read_bytes())
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(content)
    path.unlink()
    return packed


@pytest.mark.parametrize(("agent", "packed"), [("claude", False), ("codex", False), ("codex", True)])
def test_a_masked_copy_is_the_files_own_lines_and_opens_as_the_same_session(
    tmp_path: Path, agent: str, packed: bool
) -> None:
    path = with_secret(tmp_path, agent)
    path = compressed(path) if packed else path
    before, other = path.read_bytes(), tmp_path / "other"
    other.mkdir()
    context = context_of(tmp_path)
    review = review_secrets(Target(str(path)), detector(tmp_path))
    assert {one.mask.secret for one in review.suspects} >= {SECRET, "/home/alice"}
    made = redact(Target(str(path)), review, lambda _: True, Where(to=str(other / "copy.jsonl")), context=context)
    copy = Path(made.to or "")
    assert SECRET.encode() not in copy.read_bytes()
    assert b"alice" not in copy.read_bytes()
    assert made.notes[-1] == "2 lines without a record are not in the copy."
    source, masked = open_session(path), open_session(copy)
    assert (masked.agent, list(masked.ids), list(masked.parents)) == (agent, list(source.ids), list(source.parents))
    assert masked.cwd == "/home/user/app"
    for form in FORMATS:
        page = b"".join(export_redacted(Target(str(path)), form, review, lambda _: True, context=context))
        assert page
        assert SECRET.encode() not in page
    assert path.read_bytes() == before


def test_a_masked_copy_does_not_go_into_the_programs_own_directory(tmp_path: Path) -> None:
    folder, other = tmp_path / ".claude/projects/-home-alice-app", tmp_path / ".claude/projects/-other"
    folder.mkdir(parents=True)
    other.mkdir()
    target = Target(str(with_secret(folder, "claude")))
    review = review_secrets(target, detector(tmp_path))
    for to, new_id in ((folder, True), (folder / "x.jsonl", False), (other, False)):
        with pytest.raises(RefusedWrite, match="another folder"):
            redact(target, review, lambda _: True, Where(to=str(to), new_id=new_id), context=context_of(tmp_path))
    assert os.listdir(folder) == [os.path.basename(target.path)]
    assert os.listdir(other) == []
