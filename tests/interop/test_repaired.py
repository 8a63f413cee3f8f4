"""The real pi and omp open our repaired copies, with all entries that could be read (`make interop`)."""

from __future__ import annotations

import base64
import random
import subprocess
from pathlib import Path

import pytest

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session
from sessionbrowse.services.clean.doctor import examine, repair
from sessionbrowse.store.write.write_checks import Target
from tests.interop import real
from tests.interop.test_clean import asked, context_at
from tests.support.change_helpers import assistant, entry, header, line, result, user
from tests.support.mutations import mutated, readable_entries
from tests.support.random_trees import RandomTree

pytestmark = pytest.mark.interop

PROGRAMS = [("pi", real.PI_NEWEST, 6000), ("omp", real.OMP, 4000)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program[0]}-{program[1]}")
def test_repaired_copies_open_with_all_readable_entries(program: tuple[str, str, int], tmp_path: Path):
    files: list[tuple[str, list[str]]] = []
    context = context_at(tmp_path)
    for seed in range(program[2]):
        content = mutated(RandomTree(seed, program[0], 12).content(), random.Random(seed))
        folder = tmp_path / f"{seed:05}"
        (folder / "made").mkdir(parents=True)
        path, made = folder / "session.jsonl", folder / "made" / "session.jsonl"
        path.write_bytes(content)
        try:
            repair(Target(str(path), program[0]), Where(to=str(made)), context=context)
        except RefusedWrite:
            continue
        files.append((str(made), readable_entries(content)))
    answers = asked(program, [path for path, _ in files], tmp_path)
    for (name, readable), answer in zip(files, answers, strict=True):
        assert "error" not in answer, (name, answer)
        assert set(readable) <= set(answer["contexts"]), name
    print(f"{program[0]} {program[1]}: {len(files)} repaired files")
    assert len(files) > program[2] // 2


def test_the_oracles_odd_files_open_after_repair(tmp_path: Path):
    try:
        folder, node = real.oracle_folder() / "pi", real.node()
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    odd = tmp_path / "odd"
    subprocess.run([node, folder / "edge.mjs", odd], check=True, timeout=120, capture_output=True)
    files: list[tuple[str, list[str]]] = []
    for path in sorted(odd.glob("*.jsonl")):
        made = tmp_path / "made" / path.name
        made.parent.mkdir(exist_ok=True)
        try:
            repair(Target(str(path), "pi"), Where(to=str(made)), context=context_at(tmp_path))
        except RefusedWrite:
            continue
        files.append((str(made), readable_entries(path.read_bytes())))
    answers = asked(("pi", real.PI_NEWEST, 0), [path for path, _ in files], tmp_path)
    for (name, readable), answer in zip(files, answers, strict=True):
        assert "error" not in answer, (name, answer)
        assert set(readable) <= set(answer["contexts"]), name
    assert len(files) > 10


INTERRUPTED = [
    user("00000001", None, "first"),
    assistant("00000002", "00000001", "both", ["c1", "c2"]),
    result("00000003", "00000002", "c1"),
]
REPORTED: dict[str, tuple[str, list[bytes], list[str]]] = {
    # A crash while a tool ran: the agent makes up the result, so there is nothing to mend (pi#4189).
    "call-without-result": (
        "call-without-result",
        [line(header()), *map(line, INTERRUPTED), line(user("00000004", "00000003", "go on"))],
        ["00000001", "00000002", "00000003", "00000004"],
    ),
    # A file that was deleted while pi ran, and written again without its first line (pi#8939).
    "no-header": ("no-header", [*map(line, INTERRUPTED)], ["00000001", "00000002", "00000003"]),
    # An extension that sent a message while tools ran (pi-shazam#780).
    "result-apart": (
        "result-apart",
        [
            line(header()),
            *map(line, INTERRUPTED),
            line(entry("custom_message", "00000004", "00000003", customType="check", content="Verify", display=True)),
            line(result("00000005", "00000004", "c2")),
            line(user("00000006", "00000005", "go on")),
        ],
        ["00000001", "00000002", "00000003", "00000005", "00000004", "00000006"],
    ),
}


@pytest.mark.parametrize("version", [real.PI_OLDER, real.PI_NEWEST])
@pytest.mark.parametrize("shape", REPORTED)
def test_what_people_reported_opens_after_repair(tmp_path: Path, shape: str, version: str):
    kind, lines, order = REPORTED[shape]
    path, made = tmp_path / "session.jsonl", tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    path.write_bytes(b"".join(lines))
    (found,) = [one for one in examine(str(path), "pi").damage if one.kind == kind]
    if found.can_do:
        repair(Target(str(path), "pi"), Where(to=str(made)), context=context_at(tmp_path))
    else:
        made = path
    (answer,) = asked(("pi", version, 1), [str(made)], tmp_path)
    assert "error" not in answer
    assert list(answer["contexts"]) == order
    assert [one.kind for one in examine(str(made), "pi").damage if one.can_do == ("repair",)] == []


def test_a_session_with_a_video_in_a_message_opens_without_it(tmp_path: Path):
    video = base64.b64encode(random.Random(1).randbytes(2_000_000)).decode()
    lines = [
        header(),
        user("00000001", None, "first"),
        assistant("00000002", "00000001", "answer"),
        user("00000003", "00000002", f'<file name="clip.mov">{video}</file>'),
        user("00000004", "00000003", "again"),
    ]
    path, made = tmp_path / "session.jsonl", tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    path.write_bytes(b"".join(map(line, lines)))
    done = clean_session(
        Target(str(path), "pi"), "prune", branches_plan(["00000003"]), Where(to=str(made)), context=context_at(tmp_path)
    )
    (answer,) = asked(("pi", real.PI_NEWEST, 1), [str(made)], tmp_path, full=True)
    assert list(answer["contexts"])[:2] == ["00000001", "00000002"]
    assert done.preview.leaf_id == "00000002"
    assert "00000002" in answer["active"]
    assert video not in str(answer)
    assert made.stat().st_size < 2_000
