"""Text directories: damage of any file is found before the engine reads it; what a killed process left is undone."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.search.query import parse_question
from sessionbrowse.services.list.gather import take_snapshot, update_index
from sessionbrowse.services.search.ranking import Ranker
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index import index as index_module
from sessionbrowse.store.index import texts
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.rows import unpack
from sessionbrowse.store.index.text_reader import TextReader
from tests.support.index_support import answer, append, folder, header, scope_of, user, write

PATIENCE_SECONDS = 120

CHILD = """
import sys
from pathlib import Path
from tests.store.index.test_texts import answers
found, damage = answers(Path(sys.argv[1]), Path(sys.argv[2]))
print(found, damage, sep="\\n")
"""
"""Search in a process of its own: what is damaged may end it."""


def small_store(root: Path, sessions: int = 12) -> None:
    for number in range(sessions):
        said = [
            user("1", None, f"lantern {number} naïve 日本"),
            answer("2", "1", f"word{number} lamp", command="ls fooBar"),
        ]
        write(folder(root) / f"{number}.jsonl", header(f"s{number}"), *said)


def built(tmp_path: Path) -> Index:
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    update_index(scope_of(tmp_path / "store"), index)
    return index


def answers(store: Path, cache: Path) -> tuple[list[object], bool]:
    """Return what two searches find, and True if the index was found to be damaged."""
    index = open_index(cache, lambda _: None)
    searcher = Searcher(take_snapshot(scope_of(store), index), index)
    found: list[object] = []
    for text in ("word7", "lantern", "fooBar"):
        hits = [(hit.id, hit.entry_id, hit.role) for hit in searcher.find(parse_question(text))]
        ranked = Ranker(searcher, parse_question(text), now_ms=0).rank(20).sessions
        found += [sorted(map(str, hits)), sorted((str(each.summary.id), each.match) for each in ranked)]
    return found, searcher.words is None or searcher.words.damage is not None


def holding(index: Index, word: str) -> int:
    """Return the number of documents that hold a word."""
    opened = texts.open_texts(index.directory, index.connection, (texts.SAID,))
    return sum(len(list(TextReader(each).every([((word,), False)]))) for each in opened)


def flipped(path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def overwritten(path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    at = dice.randrange(len(content))
    piece = dice.randbytes(dice.randrange(1, 64))
    content[at : at + len(piece)] = piece
    path.write_bytes(content)


def cut(path: Path, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(path.stat().st_size))


def grown(path: Path, dice: random.Random) -> None:
    path.write_bytes(path.read_bytes() + dice.randbytes(dice.randrange(1, 64)))


def exchanged(path: Path, dice: random.Random) -> None:
    others = [each for each in path.parent.iterdir() if each != path and each.stat().st_size]
    path.write_bytes(dice.choice(others).read_bytes())


def removed(path: Path, dice: random.Random) -> None:
    path.unlink()


def of_another_kind(path: Path, dice: random.Random) -> None:
    path.unlink()
    dice.choice([path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("meta.json")])()


DAMAGE: tuple[Callable[[Path, random.Random], None], ...] = (
    *(flipped, overwritten, cut, grown, exchanged, removed, of_another_kind),
)


def damaged_files(tmp_path: Path, cases: int, dice: random.Random) -> None:
    """Damage a file of the texts in each case, and search in a child process: the answers stay the same."""
    store, cache, sound = tmp_path / "store", tmp_path / "cache", tmp_path / "sound"
    small_store(store)
    built(tmp_path).close()
    append(folder(store) / "3.jsonl", user("3", "2", "a grown lantern"))
    built(tmp_path).close()
    expected, is_damaged = answers(store, cache)
    assert not is_damaged
    shutil.copytree(cache, sound)
    noticed = 0
    for number in range(cases):
        shutil.rmtree(cache)
        shutil.copytree(sound, cache)
        paths = [each for each in sorted(cache.glob("text-*/*")) if not each.name.startswith(".")]
        path, damage = dice.choice(paths), DAMAGE[number % len(DAMAGE)]
        damage(path, dice)
        found = in_child(store, cache)
        case = (number, damage.__name__, path.name)
        assert found.returncode == 0, (case, found.stderr)
        first, second = found.stdout.splitlines()
        assert first == str(expected), case
        noticed += second == "True"
        # The next writing heals it.
        append(folder(store) / "4.jsonl", user(f"x{number}", "2", "more"))
        if number % 20 == 0:
            index = open_index(cache, lambda _: None)
            assert index is not None
            update_until_sound(store, index)
            again = answers(store, cache)
            assert again == (expected, False), case
    assert noticed > cases // 2


def update_until_sound(store: Path, index: Index) -> None:
    from sessionbrowse.services.list.gather import gather

    gather(scope_of(store), index)
    index.close()
    index = open_index(index.directory, lambda _: None, create=True)  # type: ignore[assignment]
    update_index(scope_of(store), index)
    index.close()


def in_child(store: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD, str(store), str(cache)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


@pytest.mark.slow
def test_a_damaged_file_never_changes_an_answer(tmp_path: Path) -> None:
    damaged_files(tmp_path, 14, random.Random(1))


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(4))
def test_many_damaged_files_never_change_an_answer(tmp_path: Path, seed: int) -> None:
    damaged_files(tmp_path, 500, random.Random(f"texts {seed}"))


@pytest.mark.skipif(os.name != "posix", reason="Windows has no pipes in directories")
@pytest.mark.parametrize("name", ["meta.json", ".managed.json"])
def test_no_pipe_among_the_files_of_the_texts_is_waited_for(tmp_path: Path, name: str) -> None:
    small_store(tmp_path / "store", 2)
    built(tmp_path).close()
    for path in (tmp_path / "cache").glob(f"text-*/{name}"):
        path.unlink()
        os.mkfifo(path)
    append(folder(tmp_path / "store") / "1.jsonl", user("9", "2", "more"))
    done = in_child(tmp_path / "store", tmp_path / "cache")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["True"]), done.stderr


def test_texts_that_were_copied_are_sound_and_their_new_stamps_are_kept(tmp_path: Path) -> None:
    small_store(tmp_path / "store", 3)
    built(tmp_path).close()
    shutil.copytree(tmp_path / "cache", tmp_path / "copy")
    assert answers(tmp_path / "store", tmp_path / "copy") == answers(tmp_path / "store", tmp_path / "cache")
    with closing(sqlite3.connect(tmp_path / "copy" / INDEX_FILE)) as connection:
        (name,) = texts.names(connection)
        known = unpack(connection.execute("SELECT stamps FROM texts").fetchone()[0], texts._decode_stamps)
        assert known == texts.file_stamps(tmp_path / "copy" / name, {})


def test_documents_of_a_killed_process_are_deleted_by_the_next_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path / "store", 2)
    built(tmp_path).close()
    write(folder(tmp_path / "store") / "new.jsonl", header("new"), user("1", None, "quokka"))
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None

    class Killed(BaseException):
        pass

    keep = texts.keep

    def killed(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(texts, "keep", killed)
    with pytest.raises(Killed):
        update_index(scope_of(tmp_path / "store"), index)
    monkeypatch.setattr(texts, "keep", keep)
    # The engine holds its document, the database does not know the file.
    assert holding(index, "quokka") == 1
    assert len(index.rows()) == 2
    index.close()
    write(folder(tmp_path / "store") / "new.jsonl", header("new"), user("1", None, "wombat"))
    index = built(tmp_path)
    assert [holding(index, word) for word in ("quokka", "wombat")] == [0, 1]
    index.close()


def test_documents_of_deleted_and_rewritten_files_go_with_the_next_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path / "store", 4)
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "BULK_BYTES", 1)
        index = open_index(tmp_path / "cache", pytest.fail, create=True)
        assert index is not None
        update_index(scope_of(tmp_path / "store"), index, processes=True)
        index.close()
    (folder(tmp_path / "store") / "0.jsonl").unlink()
    write(folder(tmp_path / "store") / "1.jsonl", header("s1"), user("1", None, "rewritten"))
    built(tmp_path).close()
    for number in (2, 3):
        write(folder(tmp_path / "store") / f"{number}.jsonl", header(f"s{number}"), user("1", None, "again"))
        built(tmp_path).close()
    append(folder(tmp_path / "store") / "1.jsonl", user("2", "1", "more"))
    index = built(tmp_path)
    # No document of the first directory is left, so it is not kept.
    (only,) = texts.open_texts(index.directory, index.connection, (texts.SAID,))
    assert only.searcher().num_docs == 4
    assert holding(index, "lantern") == 0
    index.close()


def test_texts_of_many_new_files_stay_where_texts_of_other_files_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path / "store", 2)
    built(tmp_path).close()
    (folder(tmp_path / "store") / "0.jsonl").unlink()
    for number in range(3):
        write(folder(tmp_path / "store") / f"new{number}.jsonl", header(f"n{number}"), user("1", None, "wombat"))
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    update_index(scope_of(tmp_path / "store"), index, processes=True)
    assert holding(index, "wombat") == 3
    index.close()


class Full:
    """A writer that takes documents; the disk is full when they are committed."""

    def add_document(self, document: object) -> None:
        """Take a document."""

    def commit(self) -> None:
        """Fail as on a full disk."""
        raise ValueError("No space left on device (os error 28)")


def test_a_full_disk_leaves_the_texts_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(tmp_path / "store", 3)
    built(tmp_path).close()
    expected = answers(tmp_path / "store", tmp_path / "cache")

    def opened(writer: texts.TextWriter) -> Full:
        writer._writer = full = Full()
        return full

    monkeypatch.setattr(texts.TextWriter, "open", opened)
    append(folder(tmp_path / "store") / "0.jsonl", user("3", "2", "more"))
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    from sessionbrowse.services.list.gather import gather

    said: list[str] = []
    gather(scope_of(tmp_path / "store"), index, note=said.append)
    assert len(said) == 1
    assert "could not be written" in said[0]
    index.close()
    monkeypatch.undo()
    assert answers(tmp_path / "store", tmp_path / "cache") == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_texts_in_a_directory_without_write_permission_are_used(tmp_path: Path) -> None:
    small_store(tmp_path / "store", 3)
    built(tmp_path).close()
    expected = answers(tmp_path / "store", tmp_path / "cache")
    for directory in [*(tmp_path / "cache").glob("text-*"), tmp_path / "cache"]:
        directory.chmod(0o500)
    try:
        assert answers(tmp_path / "store", tmp_path / "cache") == expected
    finally:
        for directory in [tmp_path / "cache", *(tmp_path / "cache").glob("text-*")]:
            directory.chmod(0o700)


def test_numbers_in_documents_have_no_sign_and_deletion_is_seen(tmp_path: Path) -> None:
    writer = texts.TextWriter(tmp_path, "text-x")
    for file in (1, 2):
        writer.add(texts.document_of(file, 0, "user", "hello", ""))
    writer.commit()
    for file in (3, 4):
        writer.add(texts.document_of(file, 7, "assistant", "", "src/hello.py"))
    writer.delete([2, 4])
    writer.commit()
    module = texts.engine(tmp_path)
    assert module is not None
    reader = TextReader(module.Index.open(str(tmp_path / "text-x")))
    assert sorted(reader.every([(("hello",), False)])) == [(1, 0), (3, 7)]


def test_enormous_words_are_stored_by_their_beginning(tmp_path: Path) -> None:
    word = "é" * 20_000
    write(folder(tmp_path / "store") / "0.jsonl", header("s0"), user("1", None, f"before {word} after"))
    index = built(tmp_path)
    searcher = Searcher(take_snapshot(scope_of(tmp_path / "store"), index), index)
    for text in ("before after", "e" * 3000, "é" * 900):
        assert [hit.entry_id for hit in searcher.find(parse_question(text))] == ["1"], text[:10]
    index.close()
