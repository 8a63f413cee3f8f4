"""Listing a store takes little memory, whatever single line lies in it: measured in the process that lists."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.session_files import answer, header, user

MEGABYTE = 1024 * 1024
LIMIT_MB = 300
PIECE = 4 * MEGABYTE

# The command, and the most memory that it and any of its helpers has had, in KiB, as its last line of stderr. What
# getrusage says of the process itself is, after exec, the most that its parent had.
MEASURED = """
import re, resource, sys
from sessionbrowse.cli import main
status = main(sys.argv[1:])
sys.stdout.flush()
own = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
print(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by Linux's /proc")


def measured(*arguments: str) -> tuple[Any, float]:
    """Run a command; return the document it printed and the megabytes of its process and its largest helper."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    own, helpers = done.stderr.split()[-2:]
    return json.loads(done.stdout), max(int(own), int(helpers)) / 1024


def message(content: bytes) -> bytes:
    """A user message with this content, as it stands in the file."""
    return user("a", None, 0).replace(b'"content":0', b'"content":' + content)


def pieces(unit: bytes, total: int) -> Iterator[bytes]:
    block = unit * (PIECE // len(unit))
    for _ in range(total // len(block)):
        yield block


def put(root: Path, name: str, content: bytes, unit: bytes = b"x", megabytes: int = 0) -> Path:
    """Write a session whose message is large at the `@@` of its content."""
    path = root / "--home-dev-webshop--" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    before, _, after = message(content).partition(b"@@")
    with path.open("wb") as file:
        file.write(header(id=name) + before)
        file.writelines(pieces(unit, megabytes * MEGABYTE))
        file.write(after + answer("b", "a"))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A sessions folder that is gone afterwards: pytest would keep the last few runs' hundreds of megabytes."""
    yield tmp_path / "sessions"
    shutil.rmtree(tmp_path / "sessions")


@pytest.mark.slow
def test_a_store_with_lines_of_50_and_200_megabytes_is_listed_in_little_memory(root: Path):
    put(root, "image", b'[{"type":"image","data":"@@"},{"type":"text","text":"look"}]', b"QUJDREVGR0g=", 50)
    put(root, "text", b'"start @@"', b'a line of text with \\"quotes\\" and \\\\ in it\\n', 50)
    put(root, "larger", b'"start @@"', b'a line of text with \\"quotes\\" and \\\\ in it\\n', 200)
    for number in range(20):
        put(root, f"ordinary{number}", b'"hello"')
    found, megabytes = measured("list", "--json", "--root", str(root))
    assert megabytes < LIMIT_MB
    by_id = {document["id"]: document for document in found}
    assert len(by_id) == 23
    assert (by_id["image"]["first_message"], by_id["image"]["message_count"]) == ("look", 2)
    assert by_id["text"]["first_message"].startswith('start a line of text with "quotes" and \\ in it\n')
    assert by_id["text"]["first_message_cut"] is True
    assert (by_id["larger"]["first_message"], by_id["larger"]["message_count"]) == (None, 2)
    for document in found:
        assert (document["tokens"], document["model"], document["problem"]) == (18, "anthropic/sonnet", None)
        assert document["problem_count"] == (document["id"] == "larger")
        assert document["bytes"] == (root / "--home-dev-webshop--" / f"{document['id']}.jsonl").stat().st_size


ODD_LINES: list[tuple[str, bytes, bytes, int]] = [
    ("many blocks", b'[{"type":"text","text":"hello"}@@]', b',{"type":"text","text":"x"}', 8),
    ("numbers", b'"hello","extra":[0@@]', b",1", 8),
    ("quotes", b'"hello @@"', b'\\"', 8),
    ("surrogates", b'"hello @@"', b"\\ud83d\\ude00", 8),
    ("wide", b'"hello @@"', "漢".encode(), 8),
]


@pytest.mark.stress
@pytest.mark.parametrize(
    ("content", "unit", "megabytes"), [row[1:] for row in ODD_LINES], ids=[row[0] for row in ODD_LINES]
)
def test_no_other_long_line_takes_more(root: Path, content: bytes, unit: bytes, megabytes: int):
    put(root, "odd", content, unit, megabytes)
    found, used = measured("list", "--json", "--root", str(root))
    assert used < LIMIT_MB
    assert found[0]["first_message"].startswith("hello")
    assert found[0]["tokens"] == 18


@pytest.mark.stress
def test_a_long_line_that_is_no_record_takes_no_more_either(root: Path):
    put(root, "junk", b'"hello"')
    path = root / "--home-dev-webshop--" / "junk.jsonl"
    with path.open("ab") as file:
        for unit in (b"\0", b'"', b"}", b"{}"):
            file.writelines(pieces(unit, 60 * MEGABYTE))
            file.write(b"\n")
        # A hole in the file: what a crash of some disks leaves.
        file.truncate(path.stat().st_size + 300 * MEGABYTE)
    found, used = measured("list", "--json", "--root", str(root))
    assert used < LIMIT_MB
    assert (found[0]["message_count"], found[0]["problem_count"]) == (2, 5)


@pytest.mark.stress
def test_very_many_files_take_little_memory(root: Path):
    for number in range(20_000):
        path = root / f"--home-dev-{number % 50}--" / f"s{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(header(id=f"s{number}") + user("a", None, "x" * 500) + answer("b", "a"))
    found, used = measured("list", "--json", "--root", str(root))
    assert len(found) == 20_000
    assert used < LIMIT_MB


@pytest.mark.slow
def test_showing_an_entry_of_100_megabytes_holds_it_at_most_a_few_times(root: Path):
    """`show` and `tree` read no contents; of a line over 64 MiB, only the beginning is read."""
    path = put(root, "image", b'[{"type":"image","data":"@@"},{"type":"text","text":"look"}]', b"QUJDREVGR0g=", 100)
    for command in ("show", "tree"):
        document, used = measured(command, str(path), "--json")
        assert used < LIMIT_MB
        assert (
            document["rows"][0]["text"].startswith("user:")
            if command == "tree"
            else document["entry_ids"] == ["a", "b"]
        )
