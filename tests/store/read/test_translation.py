"""Sessions of Codex that are compressed or have names in the index of names: read, and never written."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.export.export import export
from sessionbrowse.services.list.gather import gather, gather_summaries, update_index
from sessionbrowse.services.list.summary_cache import SummaryCache
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.discover import discover
from sessionbrowse.store.find.roots import Scope, places_of
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.foreign import CODEX_ID, Codex, jsonl

NAME = f"rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
HERE = "sessions/2026/05/01"
# The content in one frame of zstd: a block without compression, which needs no program to be written.
MAGIC = b"\x28\xb5\x2f\xfd"


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Path]:
    """A directory of Codex whose files are byte for byte the same after the test."""
    home = tmp_path / ".codex"
    (home / HERE).mkdir(parents=True)
    yield home
    written = home / "written"
    left = {str(path): sha(path) for path in home.rglob("*") if path.is_file() and path != written}
    assert left == msgspec.json.decode(written.read_bytes())


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def remember(home: Path) -> None:
    written = home / "written"
    sums = {str(path): sha(path) for path in home.rglob("*") if path.is_file() and path != written}
    written.write_bytes(msgspec.json.encode(sums))


def content() -> bytes:
    file = Codex()
    file.prompt("write a giraffe")
    file.answer("Here it is")
    return jsonl(file.records)


def packed(text: bytes) -> bytes:
    assert len(text) < 128 * 1024
    header = bytes([0b1010_0000]) + len(text).to_bytes(4, "little")
    block = ((len(text) << 3) | 1).to_bytes(3, "little")
    return MAGIC + header + block + text


def listed(home: Path) -> Summary:
    (found,) = gather_summaries(Scope(around=Surroundings(home=str(home.parent), environ={}, cwd="/")))
    return found


class PretendedZstandard:
    """Stands for the package `zstandard`: reads frames whose blocks are not compressed."""

    class ZstdError(Exception):
        """Damaged content."""

    class ZstdDecompressor:
        def stream_reader(self, file: Any, *, read_across_frames: bool) -> Any:
            import io

            assert read_across_frames
            with file:
                data = file.read()
            if data[-2:] != b"}\n":
                raise PretendedZstandard.ZstdError("torn")
            return io.BytesIO(data[12:])


def zstd_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression.zstd", "zstandard"):
        try:
            import_module(name)
        except ImportError:
            continue
        return
    monkeypatch.setitem(sys.modules, "zstandard", PretendedZstandard)


def zstd_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)


def test_a_compressed_session_is_read_where_zstd_is_there(codex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd_is_there(monkeypatch)
    path = codex / HERE / f"{NAME}.zst"
    path.write_bytes(packed(content()))
    remember(codex)
    one = listed(codex)
    assert (one.agent, one.id, one.first_message, one.problem) == ("codex", CODEX_ID, "write a giraffe", None)
    assert one.bytes == path.stat().st_size
    session = open_session(path)
    assert [session.envelopes[index].role for index in session.active_branch()] == ["user", "assistant"]
    assert b"".join(export(str(path), "codex", "jsonl")) == content()


def test_a_compressed_session_is_listed_with_a_problem_where_zstd_is_missing(
    codex: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zstd_is_missing(monkeypatch)
    (codex / HERE / f"{NAME}.zst").write_bytes(packed(content()))
    remember(codex)
    wanted = (
        "codex",
        "cannot be read: it is compressed; to read it, use Python 3.14 or run: pip install 'sessionbrowse[zstd]'",
    )
    assert (listed(codex).agent, listed(codex).problem) == wanted
    scope = Scope(around=Surroundings(home=str(codex.parent), environ={}, cwd="/"))
    index = open_index(tmp_path / "cache", create=True)
    assert index is not None
    update_index(scope, index)
    assert [(one.agent, one.problem) for one in gather(scope, index).sessions] == [wanted]
    index.close()


def test_a_damaged_compressed_session_is_listed_with_a_problem(codex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd_is_there(monkeypatch)
    (codex / HERE / f"{NAME}.zst").write_bytes(packed(content())[:-20])
    remember(codex)
    assert "damaged" in (listed(codex).problem or "") or listed(codex).first_message == "write a giraffe"


def test_the_plain_file_wins_over_the_compressed_one(codex: Path) -> None:
    (codex / HERE / f"{NAME}.zst").write_bytes(packed(content()))
    (codex / HERE / NAME).write_bytes(content())
    remember(codex)
    assert listed(codex).path.endswith(NAME)


def test_a_compressed_session_is_never_written(codex: Path, tmp_path: Path) -> None:
    path = codex / HERE / f"{NAME}.zst"
    path.write_bytes(packed(content()))
    remember(codex)
    around = Surroundings(home=str(codex.parent), environ={}, cwd="/")
    with pytest.raises(RefusedWrite, match="only reads"):
        rename(Target(str(path)), "x", context=ChangeContext.at(around, str(tmp_path / "state"), lambda: 2e12))


def test_the_newest_name_in_codexs_index_of_names_counts(codex: Path) -> None:
    (codex / HERE / NAME).write_bytes(content())
    names = [
        {"id": CODEX_ID, "thread_name": "Zoo", "updated_at": "2026-05-01T10:00:00Z"},
        {"id": "019c0000-0000-7000-8000-00000000000c", "thread_name": "Other"},
        {"id": CODEX_ID, "thread_name": "Giraffes", "updated_at": "2026-05-02T10:00:00Z"},
    ]
    index = codex / "session_index.jsonl"
    index.write_bytes(jsonl(names) + b"torn")
    remember(codex)
    assert listed(codex).name == "Giraffes"
    index.write_bytes(jsonl([*names, {"id": CODEX_ID, "thread_name": "Tall animals"}]))
    remember(codex)
    assert listed(codex).name == "Tall animals"


def test_the_index_knows_a_new_name_though_the_session_file_is_the_same(codex: Path, tmp_path: Path) -> None:
    (codex / HERE / NAME).write_bytes(content())
    scope = Scope(around=Surroundings(home=str(codex.parent), environ={}, cwd="/"))
    index = open_index(tmp_path / "cache", create=True)
    assert index is not None
    names = codex / "session_index.jsonl"
    cache = SummaryCache(tmp_path / "browser", lambda _: None)
    for name in (None, " Giraffes ", "Tall animals"):
        if name is not None:
            with names.open("ab") as file:
                file.write(jsonl([{"id": CODEX_ID, "thread_name": name}]))
        remember(codex)
        wanted = name.strip() if name is not None else None
        (found,) = discover(places_of(scope))
        assert cache.get(found) is None, "the row has another name"
        list(cache.read([found]))
        again = cache.get(found)
        assert again is not None
        assert again.name == wanted
        update_index(scope, index)
        assert [one.name for one in gather(scope, index).sessions] == [wanted]
        before = index.rows()[0]
        update_index(scope, index)
        assert index.rows()[0].row == before.row, "an unchanged name is not read again"
    index.close()
