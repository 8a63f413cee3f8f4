"""Images that omp keeps beside its sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.errors import Unreadable
from sessionbrowse.store.read import content
from sessionbrowse.store.read.content import read_blob

DIGEST = "ab" * 32
REFERENCE = f"blob:sha256:{DIGEST}"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A subagent's session two folders below `sessions`, and a blob of the same store."""
    (tmp_path / "agent" / "blobs").mkdir(parents=True)
    (tmp_path / "agent" / "blobs" / DIGEST).write_bytes(b"pixels")
    path = tmp_path / "agent" / "sessions" / "--shop--" / "parent" / "child.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_a_blob_is_found_from_a_session_however_deep(session: Path) -> None:
    assert read_blob(str(session), REFERENCE) == b"pixels"
    assert read_blob(str(session.parent.with_suffix(".jsonl")), REFERENCE) == b"pixels"


@pytest.mark.parametrize("reference", ["", f"sha256:{DIGEST}", f"{REFERENCE}/../x", "blob:sha256:../../secret", "x"])
def test_a_text_that_is_no_reference_names_no_file(session: Path, reference: str) -> None:
    assert read_blob(str(session), reference) is None


def test_without_such_a_blob_there_is_nothing(session: Path, tmp_path: Path) -> None:
    assert read_blob(str(session), "blob:sha256:" + "cd" * 32) is None
    assert read_blob(str(tmp_path / "elsewhere" / "session.jsonl"), REFERENCE) is None


def test_a_pipe_or_a_huge_file_is_no_image(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = session.parents[3] / "blobs" / DIGEST
    monkeypatch.setattr(content, "LARGEST_BLOB", 5)
    with pytest.raises(Unreadable, match="too large"):
        read_blob(str(session), REFERENCE)
    blob.unlink()
    os.mkfifo(blob)
    assert read_blob(str(session), REFERENCE) is None
