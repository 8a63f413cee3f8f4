"""The real pi and omp open what `convert` made: tree, labels, name, leaf and context, and go on in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.model.context.build import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.convert.convert import Carried, convert
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.read.session_file import open_session
from tests.interop import real
from tests.interop.manage import ask_manager

pytestmark = pytest.mark.interop

Json = Any
INSTALLED = str(real.cache_folder())
SEED = 613
ROUNDS = 40
TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "transcripts"
WAYS = [
    *((("pi", real.PI_NEWEST), ("omp", version)) for version in real.OMP_VERSIONS),
    *((("omp", real.OMP), ("pi", version)) for version in real.PI_VERSIONS),
]


@pytest.fixture(autouse=True)
def where_the_programs_are(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the installed programs, although the home of a test is empty."""
    monkeypatch.setenv("SESSIONBROWSE_INTEROP", INSTALLED)


def generated(agent: str, version: str, folder: Path) -> list[Path]:
    """Return sessions of the real program that are not older than format version 3 and that it opens itself."""
    try:
        if agent == "omp":
            real.generate_omp(folder, SEED, ROUNDS, version)
        else:
            real.generate_pi(version, folder, SEED, ROUNDS)
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    return [
        path
        for path in sorted(folder.glob("**/sessions/*/*.jsonl"))
        if (session := open_session(path, agent)).refusal is None and session.ids and session.version == 3
    ]


def carried(path: Path, agent: str | None, to: str, home: Path) -> Carried:
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    context = ChangeContext.at(around, str(home / "state" / "sessionbrowse"), lambda: 1_800_000_000_000.0)
    return convert(str(path), to, agent, cwd="/projects/shop", context=context)


@pytest.mark.parametrize(("source", "target"), WAYS, ids=lambda way: "-".join(way))
def test_the_real_program_opens_and_continues_a_converted_session(
    source: tuple[str, str], target: tuple[str, str], tmp_path: Path
) -> None:
    files = generated(*source, tmp_path / "generated")
    assert len(files) >= ROUNDS
    check(files, source[0], target, tmp_path)


@pytest.mark.parametrize("target", real.PROGRAMS, ids=lambda program: "-".join(program))
def test_the_real_program_opens_and_continues_sessions_of_claude_code_and_codex(
    target: tuple[str, str], tmp_path: Path
) -> None:
    files = [path for name in ("claude", "codex") for path in sorted((TRANSCRIPTS / name).rglob("*.jsonl"))]
    if not files:
        pytest.skip("the real transcripts are not beside this checkout (../shared/transcripts)")
    check([path for path in files if open_session(path).ids], None, target, tmp_path)


@pytest.mark.parametrize(("source", "target"), WAYS, ids=lambda way: "-".join(way))
def test_the_loss_list_predicts_each_difference_between_the_real_contexts(
    source: tuple[str, str], target: tuple[str, str], tmp_path: Path
) -> None:
    files = generated(*source, tmp_path / "generated")
    made = [carried(path, source[0], target[0], tmp_path / f"{number:03}") for number, path in enumerate(files)]
    before = ask_manager(*source, [{"op": "contexts", "file": str(path), "full": True} for path in files], tmp_path)
    after = ask_manager(*target, [{"op": "contexts", "file": one.path, "full": True} for one in made], tmp_path)
    for path, one, theirs, ours in zip(files, made, before, after, strict=True):
        session = open_session(path, source[0])
        ends = set(range(len(session.ids))) - set(session.parents)
        is_other = [
            [sent(message, source[0]) for message in theirs["contexts"][session.ids[at]]]
            != [sent(message, target[0]) for message in ours["contexts"][end_of(session, at, ours)]]
            for at in sorted(ends)
        ]
        assert any(is_other) == any(loss.context for loss in one.losses), path.name


def end_of(session: Session, at: int, answer: Json) -> Json:
    """Return the id of the entry at which the converted session goes on where the source does at the entry `at`."""
    return answer["leaf"] if at == session.leaf else session.ids[at]


def sent(message: Json, agent: str) -> Json:
    """Return what the model gets of a message, in a form that is the same for all programs."""
    role, blocks = message["role"], message.get("content") or []
    if message.get("excludeFromContext") or (agent == "omp" and role == "system"):
        return None
    seen = [message.get(key) for key in ("summary", "command", "output", "exitCode", "code", "files")]
    for block in [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks:
        kind, signature = block["type"], block.get("thinkingSignature")
        if kind == "redactedThinking" or block.get("redacted"):
            seen.append(["redacted", block.get("data", signature)])
        else:
            keys = ("text", "thinking", "mimeType", "id", "name", "arguments")
            seen.append([kind, signature, *(block.get(key) for key in keys)])
    return ["custom" if role == "hookMessage" else role, seen]


def check(files: list[Path], source: str | None, target: tuple[str, str], folder: Path) -> None:
    """Convert sessions, and let the real program read each and go on in a copy of it."""
    agent, version = target
    made = []
    for number, path in enumerate(files):
        one = carried(path, source, agent, folder / f"{number:03}")
        made.append((path, one, shutil.copy2(one.path, f"{one.path}.copy.jsonl")))
    requests = [{"op": "read", "file": one.path} for _, one, _ in made]
    requests += [{"op": "continue", "file": copy} for _, _, copy in made]
    answers = ask_manager(agent, version, requests, folder)
    for (path, one, _), theirs, on in zip(made, answers, answers[len(made) :], strict=False):
        ours, before = open_session(one.path, agent), open_session(path, source)
        assert "error" not in theirs, (path.name, theirs)
        ids = [entry["id"] for entry in theirs["entries"]]
        assert ids[: len(before.ids)] == list(before.ids), path.name
        parents = {entry["id"]: entry.get("parentId") for entry in theirs["entries"]}
        wanted = [None if at < 0 else before.ids[at] for at in before.parents]
        assert [parents[each] for each in before.ids] == wanted, path.name
        if before.name is not None or source is not None:
            assert (theirs["name"] or "").split() == (before.name or "").split(), path.name
        assert theirs["header"]["sessionbrowse"]["origin"]["id"] == before.id
        assert len(theirs["context"]["messages"]) == len(build(ours, ours.leaf).messages), path.name
        assert on["before"] == theirs["branch"]
        assert [entry["message"]["content"] for entry in on["after"]["entries"][-2:]] == [
            "go on",
            [{"type": "text", "text": "gone on"}],
        ]
