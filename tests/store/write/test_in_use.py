"""Who may be writing a session: descriptors, programs by name and place, omp's own marks, the clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.store.write.in_use import FileUsage, Process, file_usage, has_exited, is_program
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, NOW_MS, Store

EXIT = {"type": "custom", "customType": "session_exit", "id": "00000010", "parentId": "00000008"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def asked(store: Store, path: Path, agent: str, cwd: str | Path, now_ms: float = NOW_MS) -> FileUsage:
    return file_usage(
        str(path), AGENTS[agent], str(cwd), store.context.around, now_ms=now_ms, proc=str(store.proc), own_pid=1
    )


def test_a_session_for_which_nothing_speaks_is_free(store: Store, project: Path) -> None:
    assert asked(store, store.session(), "pi", project) == FileUsage("free")


def test_an_open_descriptor_holds_it_whatever_program_that_is(store: Store, project: Path) -> None:
    path = store.session("omp")
    store.process(12, ["bun", "x.ts"], holds=path)
    assert asked(store, path, "omp", project) == FileUsage("held", ("bun (process 12) has the file open for writing",))


def test_a_reader_holds_nothing(store: Store, project: Path) -> None:
    path = store.session("omp")
    store.process(12, ["tail", "-f"], holds=path, flags=os.O_RDONLY)
    assert asked(store, path, "omp", project).state == "free"


def test_another_file_of_the_same_name_is_another_file(store: Store, project: Path, tmp_path: Path) -> None:
    path = store.session("omp")
    other = tmp_path / path.name
    other.write_bytes(path.read_bytes())
    store.process(12, ["bun"], holds=other)
    assert asked(store, path, "omp", project).state == "free"


@pytest.mark.parametrize(
    ("agent", "name", "argv", "expected"),
    [
        ("pi", "pi", [], True),
        ("pi", "pi", ["pi"], True),
        ("pi", "node", ["/usr/bin/node", "/usr/local/bin/pi", "-c"], True),
        ("pi", "node", ["node", "--no-warnings", "/x/@earendil-works/pi-coding-agent/dist/cli.js"], True),
        ("pi", "node", ["node", "/x/@oh-my-pi/pi-coding-agent/dist/cli.js"], False),
        ("pi", "vim", ["vim", "pi"], False),
        ("pi", "node", ["node", "server.js", "pi"], False),
        ("pi", "pip", ["pip"], False),
        ("omp", "omp", ["/root/.bun/bin/bun", "whatever"], True),
        ("omp", "bun", ["bun", "/x/@oh-my-pi/pi-coding-agent/dist/cli.js"], True),
        ("omp", "pi", ["pi"], False),
        ("omp", "omp", ["omp", "__omp_worker_daemon_broker"], False),
        ("omp", "bun", ["bun", "/x/@oh-my-pi/pi-coding-agent/src/cli.ts", "__omp_worker_text_predict"], False),
        ("omp", "omp", ["/usr/bin/omp", "__omp_worker_not_known_yet"], False),
        ("omp", "omp", ["omp", "explain __omp_worker_tts"], True),
        ("atomic", "MainThread", ["node", "/usr/bin/atomic"], True),
        ("indusagi", "python3.11", ["/usr/bin/python3.11", "/usr/bin/pindus", "-r"], True),
        ("indusagi", "bash", ["/bin/bash", "-c", "indus"], False),
    ],
)
def test_programs_are_told_by_title_command_or_script(
    agent: str, name: str, argv: Sequence[str], expected: bool
) -> None:
    assert is_program(Process(3, name, tuple(argv), "/", ""), AGENTS[agent]) is expected


def test_a_program_in_the_sessions_directory_may_be_using_it(store: Store, project: Path) -> None:
    path = store.session()
    store.process(12, ["pi"], cwd=str(project))
    found = asked(store, path, "pi", project)
    assert found == FileUsage("may-be-in-use", (f"pi (process 12) runs in its directory {project}",))
    assert asked(store, path, "atomic", project).state == "free"
    assert asked(store, path, "pi", project / "below").state == "free"
    assert asked(store, path, "pi", "").state == "free"


def test_a_directory_is_the_same_through_a_link(store: Store, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    store.process(12, ["pi"], cwd=str(project))
    assert asked(store, store.session(), "pi", tmp_path / "link").state == "may-be-in-use"


def test_a_program_that_was_started_with_the_file_may_be_using_it(store: Store, project: Path) -> None:
    path = store.session("atomic")
    store.process(12, ["atomic", "--session", str(path)], cwd="/elsewhere")
    assert asked(store, path, "atomic", project).reasons == ("atomic (process 12) was started with this session",)


def test_a_command_that_pi_started_knows_the_session_it_runs_in(store: Store, project: Path) -> None:
    path = store.session()
    store.environ["PI_SESSION_FILE"] = str(path)
    assert asked(store, path, "pi", project).state == "may-be-in-use"


@pytest.mark.parametrize("profile", ["", "profiles/work/"])
def test_omps_client_file_counts_while_its_process_lives(store: Store, project: Path, profile: str) -> None:
    path = store.session("omp")
    clients = store.home / ".omp" / profile / "run" / "daemons" / "0123456789abcdef" / "clients"
    clients.mkdir(parents=True)
    (clients / "12-x.json").write_text(json.dumps({"pid": 12, "id": "12-x", "projectDir": str(project)}))
    (clients / "13-x.json").write_text("{broken")
    (clients / "14-x.json").write_text(json.dumps({"pid": "14", "projectDir": str(project)}))
    assert asked(store, path, "omp", project).state == "free"
    store.process(12, ["bun", "compiled-away"])
    assert asked(store, path, "omp", project).reasons == (f"omp (process 12) runs in its directory {project}",)
    assert asked(store, path, "omp", project / "other").state == "free"


def test_omps_terminal_counts_while_an_omp_runs_in_it(store: Store, project: Path) -> None:
    path = store.session("omp")
    terminals = store.home / ".omp" / "agent" / "terminal-sessions"
    terminals.mkdir(parents=True)
    (terminals / "pts-3").write_text(f"{project}\n{path}\ncwdstat 1 2\n")
    assert asked(store, path, "omp", project).state == "free"
    store.process(12, ["omp"], cwd="/elsewhere", terminal="/dev/pts/4")
    assert asked(store, path, "omp", project).state == "free"
    store.process(13, ["omp"], cwd="/elsewhere", terminal="/dev/pts/3")
    assert asked(store, path, "omp", project).reasons == ("omp (process 13) last opened this session in its terminal",)


@pytest.mark.parametrize(
    ("name", "stdin", "environ", "expected"),
    [
        ("pts-3", "/dev/null", "", False),
        ("pts-3", "pipe:[5]", "TMUX_PANE=%3", False),
        ("console", "/dev/console", "", True),
        ("tmux-%3", "/dev/null", "HOME=/root\0TMUX_PANE=%3\0", True),
        ("tmux-%3", "/dev/null", "TMUX_PANE=%4\0", False),
        ("zellij-work-2", "socket:[9]", "ZELLIJ_PANE_ID=2\0", True),
        ("tmux-%3", "/dev/pts/3", "TMUX_PANE=%3\0", False),
        ("kitty-1", "pipe:[5]", "KITTY_WINDOW_ID=\0LINES=1\0", False),
    ],
)
def test_a_program_without_a_terminal_stands_only_where_its_environment_says(
    store: Store, project: Path, name: str, stdin: str, environ: str, expected: bool
) -> None:
    path = store.session("omp")
    terminals = store.home / ".omp" / "agent" / "terminal-sessions"
    terminals.mkdir(parents=True)
    (terminals / name).write_text(f"{project}\n{path}\n")
    store.process(12, ["omp"], cwd="/elsewhere", terminal=stdin)
    (store.proc / "12" / "environ").write_text(environ)
    assert asked(store, path, "omp", project).in_use is expected


def test_a_program_whose_terminal_cannot_be_read_may_stand_in_any(store: Store, project: Path) -> None:
    path = store.session("omp")
    terminals = store.home / ".omp" / "agent" / "terminal-sessions"
    terminals.mkdir(parents=True)
    (terminals / "pts-3").write_text(f"{project}\n{path}\n")
    store.process(12, ["omp"], cwd="/elsewhere")
    (store.proc / "12" / "fd" / "0").unlink()
    assert asked(store, path, "omp", project).in_use


def test_omps_helpers_that_outlive_it_use_no_session(store: Store, project: Path) -> None:
    path = store.session("omp")
    store.process(12, ["omp", "__omp_worker_daemon_broker"], cwd=str(project), terminal="/dev/null")
    store.process(13, ["omp"], cwd="/elsewhere", terminal="/dev/pts/4")
    terminals = store.home / ".omp" / "agent" / "terminal-sessions"
    terminals.mkdir(parents=True)
    (terminals / "pts-3").write_text(f"{project}\n{path}\n")
    assert asked(store, path, "omp", project) == FileUsage("free")
    store.process(14, ["omp"], cwd=str(project))
    assert asked(store, path, "omp", project).reasons == (f"omp (process 14) runs in its directory {project}",)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ([EXIT], True),
        ([EXIT, {"type": "label", "id": "ours"}], True),
        ([EXIT, *({"type": "label", "id": "ours", "label": "x" * 4000} for _ in range(20))], True),
        ([EXIT, {"type": "label", "id": "theirs"}], False),
        ([EXIT, {"type": "label", "id": "theirs"}, {"type": "label", "id": "ours"}], False),
        ([EXIT, {"type": "label", "id": ["ours"]}], False),
        ([EXIT, {"type": "label"}], False),
        ([{"type": "label", "id": "ours"}], False),
    ],
)
def test_a_clean_exit_is_one_also_if_only_our_own_entries_follow_it(
    store: Store, end: Sequence[dict[str, object]], expected: bool
) -> None:
    path = store.session("omp", [*CONVERSATION, *end])
    assert has_exited(str(path), lambda: {"ours"}) is expected


@pytest.mark.parametrize(
    ("age_s", "state", "said"),
    [
        (-5, "recent", "in the future, by this computer's clock"),
        (0, "recent", "0 seconds ago"),
        (1, "recent", "1 second ago"),
        (59, "recent", "59 seconds ago"),
        (599, "recent", "9 minutes ago"),
        (600, "free", None),
    ],
)
def test_ten_minutes_make_a_change_old(store: Store, project: Path, age_s: int, state: str, said: str | None) -> None:
    path = store.session()
    found = asked(store, path, "pi", project, LONG_AGO_NS / 1e6 + age_s * 1000)
    assert found.state == state
    assert found.reasons == ((f"the session changed {said}",) if said else ())


def test_where_no_process_can_be_seen_the_clock_must_do(store: Store, project: Path) -> None:
    path = store.session()
    store.proc.rmdir()
    assert asked(store, path, "pi", project, LONG_AGO_NS / 1e6 + 1000).state == "may-be-in-use"
    assert asked(store, path, "pi", project).state == "free"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system has no /proc")
def test_a_real_process_is_found_by_its_descriptor_and_by_its_place(store: Store, project: Path) -> None:
    path = store.session("omp")
    script = project / "omp"
    script.write_text("import sys; f = open(sys.argv[1], 'ab'); print('ready', flush=True); sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, str(script), str(path)],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        around = Surroundings(home=str(store.home), environ={}, cwd="/")
        found = file_usage(str(path), AGENTS["omp"], str(project), around, now_ms=NOW_MS)
        writer.communicate(timeout=60)
    assert found.state == "held"
    name = found.reasons[0].partition(" ")[0]
    assert name in sys.executable
    assert found.reasons == (
        f"{name} (process {writer.pid}) has the file open for writing",
        f"omp (process {writer.pid}) was started with this session",
    )
    assert file_usage(str(path), AGENTS["omp"], str(project), around, now_ms=NOW_MS).state == "free"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("{path}", True), ("a/../{name}", True), ("{name}", True), ("/elsewhere/{name}", False), ("other.jsonl", False)],
)
def test_a_copy_of_the_same_name_elsewhere_is_not_taken_for_the_session(
    store: Store, word: str, expected: bool
) -> None:
    path = store.session()
    store.process(12, ["pi", "--session", word.format(path=path, name=path.name)], cwd="/elsewhere")
    assert (asked(store, path, "pi", store.folder).state == "may-be-in-use") is expected
