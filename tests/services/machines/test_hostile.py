"""Names and contents from another machine that try to leave the mirror, a shell word, or a line."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sessionbrowse.services.machines import look as look_module
from sessionbrowse.services.machines import rows as rows_module
from sessionbrowse.services.machines.mirror_files import MirrorFiles
from sessionbrowse.services.machines.rows import is_safe, parse_rows, posix_sum, without_clashes
from sessionbrowse.services.machines.script import Folder
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.other_machine import OtherMachine, write_program

SESSIONS = ".pi/agent/sessions/--a--"
LINE = b'{"type":"session","cwd":"/"}\n'
FOLDER = Folder("/h/s", 8, (".jsonl",))

PARTS = ("..", ".", "", "a\x1bb", "a\x07", "a\tb", "x" * 256, "\x7f", "é\x00", "a\r")
ENDS = ("x.jsonl", "..", "x.jsonl.part", "x", ".jsonl/", "/etc/x.jsonl", "../x.jsonl", "./..", "x.JSONL", "x\n.jsonl")
NAMES = [
    *(f"{part}/{end}" for part, end in itertools.product(PARTS, ENDS)),
    *(f"a/{part}/{end}" for part, end in itertools.product(PARTS, ENDS)),
    "/".join(["d" * 200] * 20) + "/x.jsonl",
]


@pytest.mark.parametrize("names", [NAMES], ids=["200 names"])
def test_no_row_leads_out_of_the_mirror(names: list[str], tmp_path: Path) -> None:
    files = MirrorFiles("mini", str(tmp_path / "machines"))
    top = os.path.join(files.directory, "files/h/s/")
    for name in names:
        left_out: Counter[str] = Counter()
        for path in parse_rows(FOLDER, b"1 2 3.0 4.0 ./" + name.encode() + b"\n", 5, left_out):
            assert os.path.normpath(files.path(path)) == files.path(path)
            assert files.path(path).startswith(top)
            assert path.isprintable()
            assert path.endswith(".jsonl")
    assert len(names) > 200


@pytest.mark.parametrize(
    "row",
    [b"", b"x", b"1 2 3 4 x.jsonl", b"1 2 3 4 ./\xff.jsonl", b"1 -2 3 4 ./x.jsonl", b"1 2 1e9 4 ./x.jsonl"],
)
def test_odd_rows_are_counted_and_left_out(row: bytes) -> None:
    left_out: Counter[str] = Counter()
    assert parse_rows(FOLDER, row + b"\n", 5, left_out) == {}
    assert left_out[rows_module.ODD_NAME] == bool(row)


def test_a_name_that_is_a_folder_elsewhere_or_differs_by_case_is_left_out() -> None:
    rows = parse_rows(
        FOLDER, b"".join(b"1 2 3 4 ./%s\n" % name for name in (b"a.jsonl", b"a.jsonl/b.jsonl")), 5, Counter()
    )
    left_out: Counter[str] = Counter()
    assert list(without_clashes(rows, left_out, tells_case=True)) == ["/h/s/a.jsonl"]
    rows = parse_rows(FOLDER, "1 2 3 4 ./é.jsonl\n1 2 3 4 ./E\u0301.jsonl\n".encode(), 5, Counter())
    assert len(without_clashes(rows, left_out, tells_case=True)) == 2
    assert len(without_clashes(rows, left_out, tells_case=False)) == 1
    assert left_out == {rows_module.SAME_NAME: 2}


@pytest.mark.parametrize("path", ["", "/", "a", "/a/../b", "/a//b", "/./a", "/a\n", "/" + "x" * 1024, "/\udcff"])
def test_directories_from_there_are_checked_too(path: str) -> None:
    assert not is_safe(path)


def test_a_checksum_is_that_of_cksum() -> None:
    assert posix_sum([]) == "4294967295 0"
    assert posix_sum([b"1234", b"56789"]) == "930766865 9"


WORDS = (
    "'; touch HERE; '",
    "$(touch HERE)",
    "`touch HERE`",
    "-e",
    "--help",
    '"',
    "\\",
    "a b",
    "*",
    "ü",
    "a.jsonl.part",
)


def test_real_files_with_odd_names_come_or_are_counted_and_no_name_is_run(machine: OtherMachine) -> None:
    for word in WORDS:
        machine.write(f"{SESSIONS}/{word}.jsonl", LINE)
        machine.write(f".pi/agent/sessions/{word}/s.jsonl", LINE)
    expected = machine.files()
    odd = [f"{SESSIONS}/new\nline.jsonl", f"{SESSIONS}/esc\x1b[31m.jsonl"]
    for name in odd:
        machine.write(name, LINE)
    Path(os.fsdecode(os.fsencode(machine.home / SESSIONS) + b"/\xff.jsonl")).write_bytes(LINE)
    os.mkfifo(machine.home / SESSIONS / "fifo.jsonl")
    (machine.home / SESSIONS / "link.jsonl").symlink_to("/etc/passwd")
    (machine.home / SESSIONS / "folder.jsonl").mkdir()
    result = machine.look()
    assert (result.error, result.left_out) == (None, {rows_module.ODD_NAME: 3})
    assert machine.mirrored() == expected
    assert not list(machine.home.rglob("HERE"))
    assert machine.all_ended()


@pytest.mark.parametrize("other", ["fifo", "link", "folder", "nothing", "no permission"])
def test_what_stands_in_a_files_place_when_it_is_sent_does_not_come(
    other: str, machine: OtherMachine, at_sending: Callable[[Callable[[], None]], None]
) -> None:
    if other == "no permission" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    there = machine.write(f"{SESSIONS}/s.jsonl", LINE)
    secret = machine.write("secret", b"secret")

    def change() -> None:
        there.unlink()
        match other:
            case "fifo":
                os.mkfifo(there)
            case "link":
                there.symlink_to(secret)
            case "folder":
                there.mkdir()
            case "no permission":
                there.touch(mode=0)

    at_sending(change)
    assert machine.look().error is None
    assert machine.mirrored() == {}
    assert machine.all_ended()


def test_an_endless_answer_ends_the_look(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine("bsd")
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    monkeypatch.setattr(look_module, "_SLACK", 10_000)
    (machine.path / "cat").unlink()
    write_program(machine.path / "cat", "#!/bin/sh\nwhile :; do echo line; done\n")
    result = machine.look()
    assert result.error == "The look at mini broke off after 0 of 1 files; the next look goes on."
    assert machine.all_ended()


def test_a_full_disk_here_ends_the_look_before_anything_comes(
    machine: OtherMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5}))
    result = machine.look()
    assert "29 bytes would come, and 5 are free" in (result.error or "")
    assert machine.mirrored() == {}


@pytest.mark.parametrize("seconds", ["9" * 30, "9" * 5000], ids=len)
def test_a_clock_that_tells_no_time_of_this_era_ends_the_look(seconds: str, make_machine: MakeMachine) -> None:
    machine = make_machine("bsd")
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    (machine.path / "date").unlink()
    write_program(machine.path / "date", f"#!/bin/sh\necho {seconds}\n")
    assert "are not of a known form" in (machine.look().error or "")


def test_a_number_of_odd_names_that_is_no_number_of_files_counts_none(make_machine: MakeMachine) -> None:
    machine = make_machine("bsd")
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    (machine.path / "grep").unlink(missing_ok=True)
    write_program(
        machine.path / "grep",
        f'#!/bin/sh\ncase "$*" in *-c*) echo {"9" * 5000};; *) exec {shutil.which("grep")} "$@";; esac\n',
    )
    result = machine.look()
    assert result.error is None
    assert result.new == 1
