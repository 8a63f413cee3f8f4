"""A large session is opened from the index, and from its file wherever the index does not know it as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sessionbrowse.services.list.open_session import WORTH_BYTES, Opener
from sessionbrowse.store.read.session_file import open_session
from tests.support.live_support import index
from tests.support.session_files import answer, header, user, written


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A store whose one session is worth looking up, indexed."""
    folder = tmp_path / "store" / "sessions" / "--home-dev-webshop--"
    folder.mkdir(parents=True)
    path = written(folder, header(), user("a", None, "long " * (WORTH_BYTES // 4)), answer("b", "a"), name="1.jsonl")
    index(tmp_path / "store", tmp_path / "cache")
    return path


def test_a_known_file_is_not_read_and_any_other_is(large: Path, tmp_path: Path) -> None:
    read: list[str] = []

    def reading(path: str, agent: str | None):
        read.append(path)
        return open_session(path, agent)

    opener = Opener(tmp_path / "cache", reading)
    known = opener.open(str(large), "pi")
    assert read == []
    assert [envelope.id for envelope in known.envelopes] == ["a", "b"]
    with large.open("ab") as file:
        file.write(answer("c", "b"))
    assert [envelope.id for envelope in opener.open(str(large), "pi").envelopes] == ["a", "b", "c"]
    assert read == [str(large)]
    index(tmp_path / "store", tmp_path / "cache")
    assert [envelope.id for envelope in opener.open(str(large), "pi").envelopes] == ["a", "b", "c"]
    assert read == [str(large)]
    opener.close()


def test_an_index_that_was_made_anew_is_opened_anew(large: Path, tmp_path: Path) -> None:
    opener = Opener(tmp_path / "cache")
    opener.open(str(large), "pi")
    shutil.rmtree(tmp_path / "cache")
    assert len(opener.open(str(large), "pi").envelopes) == 2
    index(tmp_path / "store", tmp_path / "cache")
    assert len(opener.open(str(large), "pi").envelopes) == 2
    opener.close()
