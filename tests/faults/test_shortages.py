"""With little memory, few processes, no disk, home directory or time zone: an answer, and the terminal given back."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sessionbrowse
from sessionbrowse.demo import make_demo
from sessionbrowse.errors import WriteFailed
from sessionbrowse.tui.outside.editor import TemporaryCopies
from tests.support.disks import fill, mounted
from tests.support.index_support import header, user, write
from tests.support.terminal import Terminal, TimedOut

pytestmark = pytest.mark.slow

SECONDS = 60
MEGABYTE = 1 << 20
OTHER_USER = 64_123
"""A user id that no machine gives to a user."""
READS = (("list",), ("search", "session"), ("labels",), ("projects",), ("stats",), ("index",))

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")


class World:
    """A demo store and a home directory, and the program in a process with limits."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root / "demo", root / "home"
        self.home.mkdir()
        make_demo(self.root)
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.become: tuple[str, ...] = ()
        """The beginning of each command, which runs the rest as another user."""
        self.python = sys.executable

    def command(self, *limits: str) -> list[str]:
        """Return the command line of the program; the options of `prlimit` are its limits."""
        return [*self.become, *(("prlimit", *limits) if limits else ()), self.python, "-m", "sessionbrowse"]

    def run(
        self, *words: str, limit: Callable[[], None] | None = None, limits: Sequence[str] = (), **changes: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; a traceback fails the test, and so does a run of more than a minute."""
        done = subprocess.run(
            [*self.command(*limits), *words, *self.below(words)],
            env=_changed(self.environ, changes),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            preexec_fn=limit,
        )
        # The search engine's allocator ends the process if it gets no memory; only the cache was being written.
        is_out_of_memory = done.returncode == -signal.SIGABRT and "memory allocation of" in done.stderr
        assert done.returncode in (0, 1) or is_out_of_memory, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode:
            assert is_out_of_memory or "sessionbrowse: " in done.stderr
        return done

    def below(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the option for the demo store, for commands that take it."""
        return () if words[:1] in (("config",), ("undo",)) else ("--root", str(self.root))

    def browse(self, *limits: str) -> tuple[int, str]:
        """Open the browser and leave it; return status and screen, with the terminal as it was before."""
        terminal = Terminal([*self.command(*limits), "--root", str(self.root)], self.environ, Path("/"))
        with terminal:
            before = terminal.modes()
            # A browser that ends with a sentence shows no footer.
            with suppress(TimedOut):
                terminal.wait("? help")
                terminal.until_quiet(0.5, 5)
                terminal.press("q")
            status = terminal.wait_status(SECONDS)
            terminal.until_quiet(0.1, 2)
            seen = bytes(terminal.seen)
            assert terminal.modes() == before, (status, seen[-3000:])
            assert seen.rfind(b"\x1b[?1049l") >= seen.rfind(b"\x1b[?1049h"), "the alternate screen is left"
            return status, terminal.screen.text()


def _changed(environ: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**environ, **changes}.items() if value is not None}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def user_world() -> Iterator[World]:
    """A world of a user who is not root, because the system limits no process of root."""
    python = "/usr/bin/python3"
    packages = next((path for path in sys.path if path.endswith("site-packages")), "")
    if not hasattr(os, "geteuid") or os.geteuid() or shutil.which("setpriv") is None or shutil.which("prlimit") is None:
        pytest.skip("needs root, setpriv and prlimit")
    search_path = os.pathsep.join([str(Path(sessionbrowse.__file__).parents[1]), packages])
    become = ("setpriv", "--reuid", str(OTHER_USER), "--regid", str(OTHER_USER), "--clear-groups")
    asked = [*become, python, "-c", "import sys, sessionbrowse.tui.app; print(sys.version_info[:2])"]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": search_path, "PYTHONDONTWRITEBYTECODE": "1"}
    tried = subprocess.run(asked, env=environ, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False)
    if tried.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip("no other user can run this version of Python with this package")
    root = Path(tempfile.mkdtemp(prefix="sessionbrowse-shortage-", dir="/tmp"))
    try:
        world = World(root)
        world.environ |= environ
        world.become, world.python = become, python
        for path in (root, *root.rglob("*")):
            os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
        yield world
    finally:
        # The programs beside a browser that ended a moment ago may still write.
        until = time.monotonic() + SECONDS
        while root.exists() and time.monotonic() < until:
            shutil.rmtree(root, ignore_errors=True)
            time.sleep(0.01)
        assert not root.exists()


def limited(kind: int, most: int) -> Callable[[], None]:
    return partial(resource.setrlimit, kind, (most, most))


# -- processes and threads --------------------------------------------------------------------------------------------


@linux_only
def test_commands_answer_without_a_process_more(user_world: World) -> None:
    for words in READS:
        free, alone = user_world.run(*words), user_world.run(*words, limits=["--nproc=1"])
        assert (alone.returncode, bool(alone.stdout)) == (free.returncode, bool(free.stdout))


@linux_only
@pytest.mark.parametrize("threads", [1, 5])
def test_the_browser_gives_the_terminal_back_where_threads_are_refused(user_world: World, threads: int) -> None:
    user_world.browse(f"--nproc={threads}")


# -- memory -----------------------------------------------------------------------------------------------------------


@linux_only
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="the browser needs prlimit")
# At the edge, where it depends on the moment which call is refused, a measured run is refused the last one too.
@pytest.mark.parametrize("kilobytes", [pytest.param(250_000, marks=pytest.mark.stress), 400_000])
def test_the_browser_gives_the_terminal_back_where_memory_is_refused(world: World, kilobytes: int) -> None:
    world.browse(f"--as={kilobytes * 1024}")
    # Whatever the shortage left, the next command with enough memory finds a sound index, or makes one.
    assert (world.run("index").returncode, world.run("search", "session").returncode) == (0, 0)


# -- descriptors ------------------------------------------------------------------------------------------------------


@linux_only
def test_twenty_descriptors_are_enough(world: World) -> None:
    for words in READS:
        assert world.run(*words, limit=limited(resource.RLIMIT_NOFILE, 20)).returncode == 0
    if shutil.which("prlimit") is not None:
        assert world.browse("--nofile=20")[0] == 0


# -- disk, home, names, time zone -------------------------------------------------------------------------------------


@linux_only
def test_a_full_disk_stops_the_index_with_a_sentence_and_loses_no_byte(world: World) -> None:
    before = {path: path.read_bytes() for path in world.root.rglob("*.jsonl")}
    for most in (0, 4096, 65_536):
        done = world.run("index", limit=limited(resource.RLIMIT_FSIZE, most))
        assert done.returncode == 0 or "index" in done.stderr.lower()
        assert world.run("list", limit=limited(resource.RLIMIT_FSIZE, most)).returncode in (0, 1)
    assert before == {path: path.read_bytes() for path in world.root.rglob("*.jsonl")}
    assert world.run("index").returncode == 0


@linux_only
def test_a_user_without_a_home_directory_is_told_to_set_home(user_world: World) -> None:
    for words in (*READS, ("config",), ("undo",)):
        done = user_world.run(*words, HOME=None)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "set HOME" in done.stderr
    del user_world.environ["HOME"]
    status, screen = user_world.browse()
    assert status == 1
    assert "set HOME" in screen


@linux_only
def test_a_home_directory_that_cannot_be_written_is_read(user_world: World) -> None:
    os.chown(user_world.home, 0, 0)
    user_world.home.chmod(0o555)
    assert user_world.run("list").stdout
    assert user_world.browse()[0] == 0


def test_a_bad_time_zone_and_a_plain_locale_change_no_answer(world: World) -> None:
    expected = world.run("list", "--json").stdout
    assert world.run("list", "--json", TZ="Nowhere/Bad").stdout == expected
    for words in READS:
        assert world.run(*words, LC_ALL="C", LANG="C", TZ="Nowhere/Bad", PYTHONUTF8="0").returncode == 0


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
def test_other_kinds_in_place_of_own_files_do_not_hang(world: World, kind: str) -> None:
    state, config = world.home / ".local" / "state" / "sessionbrowse", world.home / ".config" / "sessionbrowse"
    for path in (state / "journal.jsonl", state / "pins.json", config / "config.toml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero")
    for words in (("list",), ("search", "session"), ("config",), ("undo",)):
        world.run(*words)


def test_a_temporary_copy_needs_no_tmpdir_and_fits_any_name(tmp_path: Path) -> None:
    copies = TemporaryCopies(str(tmp_path / "missing"))
    path = copies.write(b"text", "n" * 248 + ".jsonl")
    assert path.read_bytes() == b"text"
    assert path.suffix == ".jsonl"
    copies.remove_all()
    assert not path.parent.exists()


def test_a_temporary_copy_that_cannot_be_written_fails_with_a_sentence(tmp_path: Path) -> None:
    copies = TemporaryCopies(str(tmp_path))
    copies.write(b"text", "a").unlink()
    shutil.rmtree(next(tmp_path.iterdir()))
    with pytest.raises(WriteFailed, match="temporary copy could not be written"):
        copies.write(b"text", "b")


LONG_NAME = "n" * 243 + ".jsonl"


@linux_only
def test_changes_of_a_file_with_a_long_name_are_made_and_undone(world: World) -> None:
    path, other = _two_sessions(world)
    for words in (("rename", "long", "xé"), ("archive", "long"), ("delete", "long", "--yes", "--own-trash")):
        before = path.read_bytes()
        assert world.run(*words, LC_ALL="C").returncode == 0
        assert not path.exists() or path.read_bytes() != before
        assert world.run("undo", LC_ALL="C").returncode == 0
        assert path.read_bytes().startswith(before)
    assert other.exists()


@linux_only
def test_relocate_names_a_session_that_it_cannot_read(user_world: World) -> None:
    _, unreadable = _two_sessions(user_world)
    unreadable.chmod(0)
    new = user_world.home / "new"
    new.mkdir()
    done = user_world.run("relocate", str(user_world.home / "old"), str(new))
    assert f"{unreadable} cannot be read; it stays unchanged at the old path." in done.stderr
    assert "1 session moved" in done.stderr


def _two_sessions(world: World) -> tuple[Path, Path]:
    """Make a store of a session with a long name and one with a short name, both a day old."""
    world.root = world.home / "store"
    folder = world.root / "--proj--"
    folder.mkdir(parents=True)
    for name, ident in ((LONG_NAME, "long"), ("b.jsonl", "short")):
        made = write(folder / name, header(ident, cwd=str(world.home / "old")), user("1", None, "hello"))
        os.utime(made, (1_786_600_000,) * 2)
    if world.become:
        for path in (world.home, *world.home.rglob("*")):
            os.chown(path, OTHER_USER, OTHER_USER)
    return folder / LONG_NAME, folder / "b.jsonl"


def test_a_full_disk_for_index_and_state_refuses_changes_and_answers_lists(world: World, tmp_path: Path) -> None:
    path, _ = _two_sessions(world)
    before, expected = path.read_bytes(), world.run("list").stdout
    with mounted(tmp_path / "small", "64k") as disk:
        fill(disk, 0)
        own: dict[str, Any] = {"XDG_CACHE_HOME": str(disk / "cache"), "XDG_STATE_HOME": str(disk / "state")}
        assert world.run("list", **own).stdout == expected
        assert world.run("index", **own).returncode == 1
        refused = world.run("rename", "long", "New name", **own)
        assert refused.returncode == 1
        assert "No space left on device" in refused.stderr
    assert path.read_bytes() == before
