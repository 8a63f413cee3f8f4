"""Where the search engine cannot be used, files are read as without an index, and one sentence says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.services.search.text_index import NO_ENGINE
from sessionbrowse.store.index import texts
from tests.support.index_support import answer, folder, header, user, write


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # A module that is None in `sys.modules` cannot be imported.
    monkeypatch.setitem(sys.modules, "tantivy", None)
    texts.engine.cache_clear()
    yield
    texts.engine.cache_clear()


@pytest.mark.usefixtures("no_engine")
def test_commands_find_the_same_and_say_one_sentence(
    tmp_path: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(
        folder(tmp_path) / "a.jsonl", header("a"), user("1", None, "The lantern"), answer("2", "1", "ok", command="ls")
    )
    root = ("--root", str(tmp_path))
    assert main(["index", *root]) == 0
    capfd.readouterr()
    for command in (["search", "lantern"], ["list", "lantern"], ["list", "ls", "--sort", "name"]):
        assert main([*command, "--json", *root]) == 0
        told = capfd.readouterr()
        assert '"id":"a"' in told.out.replace(" ", "")
        assert told.err.count(NO_ENGINE) == 1
    assert main(["list", *root]) == 0
    assert capfd.readouterr().err == ""


def test_texts_that_were_stored_without_the_engine_are_stored_once_it_is_there(
    tmp_path: Path, own_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder(tmp_path) / "a.jsonl", header("a"), user("1", None, "The lantern"))
    root = ("--root", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tantivy", None)
        texts.engine.cache_clear()
        assert main(["index", *root]) == 0
    texts.engine.cache_clear()
    for said in ("stored by another version", ""):
        capfd.readouterr()
        assert main(["search", "lantern", "--json", *root]) == 0
        told = capfd.readouterr()
        assert '"a"' in told.out
        assert said in told.err
        assert main(["index", *root]) == 0
