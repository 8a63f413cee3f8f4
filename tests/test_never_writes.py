"""No reading command changes a session file or its directory, and none opens a network connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS
from tests.support.session_files import Status, answer, header, snapshot, user
from tests.support.whole_sessions import OF_ATOMIC, OF_OMP, OF_PI, OF_VERSION_1, TRANSCRIPT

pytestmark = pytest.mark.slow

WATCHED = 97
"""The exit status of a command that tried to change something below the store."""

# Python tells of every call that could change a file before it is made.
WATCHER = f"""
import os, sys

STORE = os.path.realpath(sys.argv.pop(1)) + os.sep
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
          "os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.lockf", "fcntl.flock", "fcntl.lockf",
          "shutil.move", "shutil.copyfile", "shutil.rmtree", "tempfile.mkstemp", "tempfile.mkdtemp", "sqlite3.connect")


NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def is_in_store(path):
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{{path}}")
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return isinstance(path, str) and (os.path.realpath(path) + os.sep).startswith(STORE)


def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not (flags or 0) & CHANGING and not set(mode or "") & set("wax+"):
            return
        places = [path]
    elif event in NETWORK:
        os.write(2, f"{{event}} {{arguments}}\\n".encode())
        os._exit({WATCHED})
    elif event in EVENTS:
        places = [argument for argument in arguments if isinstance(argument, (str, bytes, int))][:2]
    else:
        return
    if any(is_in_store(place) for place in places if not (isinstance(place, int) and place < 3)):
        os.write(2, f"{{event}} {{arguments}}\\n".encode())
        os._exit({WATCHED})


sys.addaudithook(watch)
"""
COMMAND = WATCHER + "\nfrom sessionbrowse.cli import main\nsys.exit(main(sys.argv[1:]))\n"
RECOVERERS = (
    WATCHER
    + """
from sessionbrowse.cli import main

agent = sys.argv[1]
for path in sys.stdin.read().splitlines():
    for look in "show,show --json,tree,tree --filter all --json,context,context --json,resume --print".split(","):
        status = main([*look.split(), path, "--agent", agent])
        assert status in (0, 1), (status, path, look)
"""
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A home with a store of each agent, with all that its own program would repair, migrate or complete."""
    home = tmp_path / "store"
    lines = {"pi": OF_PI, "omp": OF_OMP, "atomic": [header(), *OF_ATOMIC[1:]], "indusagi": [header(), user("a", None)]}
    for agent, content in lines.items():
        folder = home / f".{agent}" / "agent" / "sessions" / ("-webshop" if agent == "omp" else "--home-dev-webshop--")
        folder.mkdir(parents=True)
        (folder / f"2026_{agent}-whole.jsonl").write_bytes(b"".join(content))
        (folder / f"2026_{agent}-old.jsonl").write_bytes(b"".join(OF_VERSION_1))
        (folder / f"2026_{agent}-torn.jsonl").write_bytes(b"".join(content)[:-9])
        (folder / f"2026_{agent}-empty.jsonl").write_bytes(b"")
        (folder / f"2026_{agent}-headless.jsonl").write_bytes(user("a", None) + answer("b", "a"))
        # omp's own list puts such a copy in the place of the missing file.
        (folder / f"2026_{agent}-gone.jsonl.0123456789abcdef.bak").write_bytes(b"".join(content))
    transcripts = home / ".indusagi" / "agent" / "sessions" / "--home-dev--"
    transcripts.mkdir()
    (transcripts / "s_1_abc.ndjson").write_bytes(b"".join(TRANSCRIPT))
    for path in sorted(home.rglob("*"), reverse=True):
        os.utime(path, (1_790_000_000, 1_790_000_000))
    return home


def run(store: Path, *arguments: str, code: str = COMMAND, typed: str = "") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", code, str(store), *arguments]
    return subprocess.run(command, input=typed.encode(), capture_output=True, timeout=120, check=False)


def roots(store: Path) -> list[str]:
    return [argument for agent in AGENTS for argument in ("--root", str(store / f".{agent}"))]


def listed(store: Path) -> list[str]:
    """Every session's path, found by a command that is watched."""
    done = run(store, "list", "--json", "--hidden", *roots(store))
    assert done.returncode == 0, done.stderr.decode()
    return [document["path"] for document in json.loads(done.stdout)]


def test_the_watcher_sees_every_kind_of_change(store: Path):
    path = next(store.rglob("*.jsonl"))
    for change in (
        f"open({str(path)!r}, 'a')",
        f"os.open({str(path)!r}, os.O_RDWR)",
        f"os.rename({str(path)!r}, '/nowhere/x')",
        f"os.utime({str(path)!r}, None)",
        f"os.mkdir({str(store / 'new')!r})",
        f"os.unlink({str(path)!r})",
        f"os.ftruncate(os.open({str(path)!r}, os.O_RDONLY), 0)",
        f"__import__('sqlite3').connect({str(store / 'x.db')!r})",
        f"__import__('pathlib').Path({str(path)!r}).chmod(0o600)",
    ):
        before = snapshot(store)
        assert run(store, code=WATCHER + "\n" + change).returncode == WATCHED, change
        assert snapshot(store) == before
    assert run(store, code=WATCHER + f"\nopen({str(path)!r}).read()").returncode == 0


def test_the_watcher_sees_the_network(store: Path):
    for use in ("socket.create_connection(('localhost', 9))", "socket.socket().bind(('127.0.0.1', 0))"):
        assert run(store, code=WATCHER + f"\nimport socket\n{use}").returncode == WATCHED, use


def test_no_reading_command_changes_anything_in_a_store(store: Path):
    before: Status = snapshot(store)
    paths = listed(store)
    assert len(paths) == 21
    everywhere = (
        "list",
        "list docs --json",
        "projects",
        "projects --json",
        "labels",
        "labels --json",
        "search docs",
        "stats --json",
        "doctor --json",
    )
    for command in everywhere:
        done = run(store, *command.split(), *roots(store))
        assert done.returncode in (0, 1), (command, done.stderr.decode())
        assert done.stdout, command
    assert snapshot(store) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_no_look_into_one_session_changes_it_or_its_folder(store: Path, agent: str):
    before = snapshot(store)
    paths = [str(path) for path in (store / f".{agent}").rglob("*") if path.suffix in (".jsonl", ".ndjson")]
    done = run(store, agent, code=RECOVERERS, typed="\n".join(paths))
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert snapshot(store) == before


def test_the_agents_own_places_are_only_looked_at(store: Path):
    """As a user's own home: nothing is created there either, though the agents create folders when they list."""
    before = snapshot(store)
    at_home = COMMAND.replace("import os, sys", f"import os, sys\nos.environ['HOME'] = {str(store)!r}", 1)
    for command in ("list --json", "projects", "labels", "show s-1"):
        done = run(store, *command.split(), code=at_home)
        assert done.returncode in (0, 1), done.stderr.decode()
    assert snapshot(store) == before
