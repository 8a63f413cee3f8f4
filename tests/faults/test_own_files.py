"""Our own files are foreign input: whatever is in them, commands answer as without them, and caches heal."""

from __future__ import annotations

import gc
import io
import os
import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.services.background.first_rows import (
    first_order,
    make_first_rows,
    save_first_rows,
    saved_first_rows,
)
from sessionbrowse.services.background.monitor_messages import MonitorDisk
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.store.index import index as index_module
from sessionbrowse.store.own.pins import read_pins, set_pin
from sessionbrowse.store.own.remembered_views import ListView, SessionView, recall, remember, scope_key
from tests.support.index_support import answer, entry, folder, header, line_of, scope_of, user

pytestmark = pytest.mark.slow

QUICK_CASES, STRESS_CASES = 20, 2000
ASKED = (
    ("list", "--json"),
    ("search", "lantern", "--json"),
    ("search", "lantrn", "--json"),
    ("labels", "--json"),
    ("show", "s3", "--json"),
    ("stats", "--by", "session", "--json"),
    ("stats", "--by", "branch", "--json"),
    ("stats", "--by", "day", "--json"),
)
TABLES = ("files", "entries", "texts", "usage", "settled", "facts")
KEYS = {"files": "path", "settled": "name"}
"""The columns by which a row is chosen in tables without row ids."""


def run(*argv: str) -> tuple[int, bytes, str]:
    """Run a command in this process; an error that is no sentence is raised."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(argv)
        out.flush()
    # The age of a session is part of the score.
    return status, re.sub(rb'"score":[^,]*', b"", out.buffer.getvalue()), err.getvalue()


def difference(found: bytes, expected: bytes) -> str:
    """Return both answers where they begin to differ."""
    pairs = enumerate(zip(found, expected, strict=False))
    at = max(next((at for at, (one, other) in pairs if one != other), min(len(found), len(expected))) - 60, 0)
    return f"{found[at : at + 120]!r} instead of {expected[at : at + 120]!r}"


class OwnFiles:
    """A store of eight sessions, and sessionbrowse's own files: as they are now, and as they were before."""

    def __init__(self, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.root_path = ("--root", str(root)), root
        here = folder(root)
        for number in range(8):
            # The last session holds a copy of the answer before, which is counted once.
            day = min(number, 6)
            lines = [header(f"s{number}"), user("1", None, f"The lantern {number}")]
            lines.append(answer("2", "1", "Done", ms=1_786_608_002_000 + day * 86_400_000))
            lines[-1]["message"]["usage"]["cost"]["total"] = 0.01 * (day + 1)
            lines.append(entry("label", "3", "2", targetId="1", label=f"Label {number}"))
            (here / f"{number}.jsonl").write_bytes(b"".join(map(line_of, lines)))
        self.changed = here / "0.jsonl"
        self.content, self.times = self.changed.read_bytes(), self.changed.stat()
        self.expected = self.answers()
        cache, state = home / ".cache" / "sessionbrowse", home / ".local" / "state" / "sessionbrowse"
        self.caches = cache
        self.directories = (cache, state, home / ".config" / "sessionbrowse")
        self.request = MonitorDisk(
            home=str(home), environ={"HOME": str(home)}, roots=(str(root),), cache=str(cache), state=str(state)
        )
        for directory in self.directories:
            directory.mkdir(parents=True, exist_ok=True)
        (self.directories[2] / "config.toml").write_text('theme = "light"\npreview = false\n[keys]\nquit = "ctrl+q"\n')
        (state / "pins.json").write_text('{"version":1,"pins":[["pi","s1"],["pi","s2"]]}')
        with monkeypatch.context() as patch:
            patch.setattr(index_module, "BULK_BYTES", 0)
            assert run("index", *self.root)[0] == 0
        self.remember()
        self.first_rows = [saved_first_rows(self.request)]
        assert None not in self.first_rows
        self.older = self.copies()
        (here / "7.jsonl").write_bytes((here / "7.jsonl").read_bytes() + line_of(user("4", "3", "Another lantern")))
        self.expected = self.answers(cached=False)
        assert [run(*asked, *self.root)[:2] for asked in ASKED] == self.expected
        self.rename_and_undo()
        self.reset_session()
        run("list", *self.root)
        # The figures of cost are now kept too.
        assert self.answers() == self.expected
        self.remember()
        self.first_rows.append(saved_first_rows(self.request))
        self.check_interface()
        self.sound = self.copies()

    def answers(self, *, cached: bool = True) -> list[tuple[int, bytes]]:
        """Return all answers; without the caches, they come from the session files."""
        with pytest.MonkeyPatch.context() as patch:
            if not cached:
                patch.setenv("XDG_CACHE_HOME", "/nowhere")
            return [run(*asked, *self.root)[:2] for asked in ASKED]

    def remember(self) -> None:
        """Save the view and the first rows as a browser does when it ends."""
        request, state = self.request, str(self.directories[1])
        remember(state, scope_key(request.roots, ()), ListView(sort="name"), {"x": SessionView(entry="1")})
        save_first_rows(request, make_first_rows(gather_summaries(scope_of(self.root_path)), first_order(request)))

    def check_interface(self) -> None:
        """Ask for what a browser shows from its own files; a change of a pin heals the pins, its end the rest."""
        state = str(self.directories[1])
        saved = saved_first_rows(self.request)
        # Rows of an earlier end are right until the disk is read.
        assert saved in (None, *self.first_rows), f"first rows: {saved}"
        _, sessions = recall(state, scope_key(self.request.roots, ()))
        assert all(isinstance(view.entry, str | None) for view in sessions.values())
        set_pin(state, "pi", "s5", pinned=True)
        assert ("pi", "s5") in read_pins(state).own
        self.remember()
        assert saved_first_rows(self.request) == self.first_rows[-1]
        assert recall(state, scope_key(self.request.roots, ()))[1]["x"].entry == "1"

    def copies(self) -> dict[Path, bytes]:
        # An index that is not closed yet has files beside it.
        gc.collect()
        return {
            path: path.read_bytes()
            for directory in self.directories
            for path in directory.rglob("*")
            if path.is_file() and "lock" not in path.name
        }

    def reset(self) -> None:
        """Make all own files sound again, as other files."""
        for directory in self.directories:
            shutil.rmtree(directory)
            directory.mkdir(mode=0o700)
        for path, content in self.sound.items():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.write_bytes(content)

    def reset_session(self) -> None:
        self.changed.write_bytes(self.content)
        os.utime(self.changed, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))

    def rename_and_undo(self) -> None:
        for change in (("rename", "s0", "Another name"), ("undo",)):
            status, _, err = run(*change, *(self.root if change[0] == "rename" else ()))
            assert status in (0, 1)
            assert status == 0 or err.startswith("sessionbrowse: "), err
            assert self.changed.read_bytes().startswith(self.content)


def flipped(files: OwnFiles, path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    places = [at for at, byte in enumerate(content) if byte] or [0]
    for _ in range(dice.choice((1, 3, 30)) if content else 0):
        content[dice.choice(places)] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def cut(files: OwnFiles, path: Path, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(path.stat().st_size + 1))


def zeroed(files: OwnFiles, path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    at = dice.randrange(len(content) + 1)
    content[at : at + 4096] = bytes(len(content[at : at + 4096]))
    path.write_bytes(content)


def emptied(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.write_bytes(b"")


def garbage(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.write_bytes(dice.randbytes(dice.choice((1, 100, 20_000))))


def exchanged(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.write_bytes(files.sound[dice.choice(list(files.sound))])


def older(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.write_bytes(files.older.get(path, b""))


def piped(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "precious").write_text("kept")


def linked(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.unlink()
    path.symlink_to(dice.choice([*files.sound, Path("/nowhere/at/all"), Path("/dev/zero")]))


def without_rights(files: OwnFiles, path: Path, dice: random.Random) -> None:
    path.chmod(0)


def lines_doubled(files: OwnFiles, path: Path, dice: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True) or [b""]
    for _ in range(dice.randrange(1, 4)):
        lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
    path.write_bytes(b"".join(lines))


def values_changed(files: OwnFiles, path: Path, dice: random.Random) -> str | None:
    """Put other values into a row of the database, or other words into a text; return the row and the value."""
    if path.name != "index.sqlite":
        words = path.read_bytes().replace(b"s0", b"s1").replace(b"true", b"7").replace(b'"version":1', b'"version":[]')
        path.write_bytes(words.replace(b"record", dice.choice((b"recorf", b"id", b"record"))))
        return None
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        table = dice.choice(TABLES)
        key = KEYS.get(table, "rowid")
        rows = database.execute(f"SELECT {key}, * FROM {table} ORDER BY 1")
        columns = [each[0] for each in rows.description[1:]]
        known = rows.fetchall()
        if not known:
            return None
        place = dice.randrange(len(columns))
        each = dice.choice(known)
        # Packed values carry a checksum. What someone else has written there on purpose is believed.
        chosen, value = (
            each[0],
            mutated(each[place + 1], dice) if isinstance(each[place + 1], bytes) else each[place + 1],
        )
        database.execute(f"UPDATE OR IGNORE {table} SET {columns[place]} = ? WHERE {key} = ?", (value, chosen))
        return f"{table}.{columns[place]} of {chosen!r} = {value!r:.200}"


def mutated(value: object, dice: random.Random) -> object:
    match value:
        case int():
            return value + dice.choice((-1, 1, 1 << 40))
        case float():
            return value + dice.choice((-1, 1e9, float("inf")))
        case bytes() if value:
            changed = bytearray(value)
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
            return bytes(changed)
        case str():
            return value + "x"
        case _:
            return dice.choice((0, "x", b"x"))


FORGED = (flipped, zeroed, values_changed)
"""Damages that may leave a row of the index which can be decoded, with another value: rows have no checksums."""
MOST_FORGED = 0.01
"""Greatest part of all damages that may change an answer in this way."""

DAMAGES: tuple[Callable[[OwnFiles, Path, random.Random], str | None], ...] = (
    flipped, cut, zeroed, emptied, garbage, exchanged, older, piped, directory, linked, lines_doubled, values_changed,
)  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> OwnFiles:
    return OwnFiles(tmp_path / "store", own_home, monkeypatch)


def meet(files: OwnFiles, seed: int, forged: list[int]) -> tuple[str, str | None]:
    """Make one random damage and all commands; return its name and how it was not survived.

    The seed of a damage is added to `forged` if a row of the index has another value, and a new index answers rightly.
    """
    dice = random.Random(seed)
    files.reset()
    files.reset_session()
    path = dice.choice([each for each in sorted(files.sound) if dice.random() < 0.5 or each.name == "index.sqlite"])
    damages = DAMAGES if os.geteuid() == 0 else (*DAMAGES, without_rights)
    damage = dice.choice(damages)
    told = damage(files, path, dice)
    name = f"{path.suffix} {path.name.split('-')[0]}: {damage.__name__}"
    try:
        # Any command may be the first that meets the damage.
        for asked, expected in sorted(zip(ASKED, files.expected, strict=True), key=lambda _: dice.random()):
            found = run(*asked, *files.root)
            if found[:2] != expected:
                is_forged = path.name == "index.sqlite" and damage in FORGED and found[0] == 0
                if is_forged and run("index", "--rebuild", *files.root)[0] == 0 and files.answers() == files.expected:
                    forged.append(seed)
                    return name, None
                return name, f"{told}: {' '.join(asked)}: {difference(found[1], expected[1])} {found[2]}"
        files.rename_and_undo()
        files.reset_session()
        files.check_interface()
        status, out, err = run(*ASKED[0], *files.root)
        if (status, out) != files.expected[0] or (path.is_relative_to(files.caches) and err):
            return name, f"{told}: not healed: {err}"
    except Exception as error:  # the test reports every one with its seed
        import traceback

        return name, f"{told}: {type(error).__name__}: {error} {''.join(traceback.format_tb(error.__traceback__)[-2:])}"
    return name, None


def survives(files: OwnFiles, cases: int, first: int = 0) -> None:
    failed = {}
    forged: list[int] = []
    kinds: Counter[str] = Counter()
    for seed in range(first, first + cases):
        name, problem = meet(files, seed, forged)
        kinds[name] += 1
        if problem is not None:
            failed[seed] = f"{name}: {problem}"
    print(f"\n{cases} damages of {len(kinds)} kinds: {len(failed)} not survived, {len(forged)} forged")
    assert not failed, "\n".join(f"{seed}: {each}" for seed, each in failed.items())
    assert len(forged) <= max(1, cases * MOST_FORGED), forged


def test_damaged_own_files_give_right_answers(files: OwnFiles) -> None:
    survives(files, QUICK_CASES)


@pytest.mark.stress
@pytest.mark.parametrize("part", range(4))
def test_own_files_survive_thousands_of_damages(files: OwnFiles, part: int) -> None:
    survives(files, STRESS_CASES // 4, QUICK_CASES + STRESS_CASES // 4 * part)
