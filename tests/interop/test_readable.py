"""A file that a program opened before a change opens after it and after its undo, whatever `--agent` names."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from sessionbrowse.agents import Surroundings
from sessionbrowse.agents.base import marks_of_head
from sessionbrowse.demo import make_demo
from sessionbrowse.errors import NoSuchSession, SessionBrowseError
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.list.locate import Located, locate
from sessionbrowse.services.transaction.change import target_of
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from tests.conftest import CORPUS
from tests.interop import real
from tests.interop.looking import Look, Seen, programs
from tests.interop.recording import unpack
from tests.support.file_helpers import own_system_trash

pytestmark = pytest.mark.interop

AGENTS = ("pi", "omp", "atomic", "indusagi")
CASES = 3600
LARGEST_BYTES = 100_000
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
SLOT = b'{"type":"title"'


class Case(Struct, frozen=True):
    """One verb on one file: its agent and content, the damage, where it lies, what `--agent` names."""

    source: str
    agent: str
    content: bytes
    damage: str
    place: str
    named: str
    verb: str


# ---- damage --------------------------------------------------------------------------------------------------


def split(content: bytes) -> tuple[bytes, list[bytes]]:
    """Return the beginning up to the header, and the lines behind it."""
    lines = content.splitlines(keepends=True)
    head = next((at for at, line in enumerate(lines) if b'"type":"session"' in line), 0) + 1
    return b"".join(lines[:head]), lines[head:]


def without_middle(content: bytes) -> bytes:
    head, lines = split(content)
    return head + b"".join(lines[: len(lines) // 2] + lines[len(lines) // 2 + 1 :])


def with_ids_twice(content: bytes) -> bytes:
    head, lines = split(content)
    return head + b"".join(lines + lines[len(lines) // 2 :])


def without_slot(content: bytes) -> bytes:
    return content.split(b"\n", 1)[1] if content.startswith(SLOT) else content


def with_header(content: bytes, member: bytes) -> bytes:
    return content.replace(b'{"type":"session"', b'{"type":"session",' + member, 1)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda content: content,
    "torn": lambda content: content + b'{"type":"message","id":"to',
    "cut off": lambda content: content[:-9],
    "no newline": lambda content: content.removesuffix(b"\n"),
    "byte order mark": lambda content: b"\xef\xbb\xbf" + content,
    "blank lines": lambda content: content.replace(b"\n", b"\n\n"),
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "ids twice": with_ids_twice,
    "a parent missing": without_middle,
    "junk first": lambda content: b"junk\n" + content,
    "no slot": without_slot,
    "a title in the header": lambda content: with_header(content, b'"title":"odd"'),
    "an odd version": lambda content: content.replace(b'"version":3', b'"version":"x"', 1),
    "no directory": lambda content: content.replace(b'"cwd":', b'"was":', 1),
    "no end": lambda content: content + b'{"type":"odd_thing"}\n',
    "null": lambda content: content + b"null\n",
    "a mark of omp": lambda content: (
        content + b'{"type":"mode_change","id":"ffffff01","parentId":null,"timestamp":"x","mode":"plan"}\n'
    ),
}


# ---- files ---------------------------------------------------------------------------------------------------


def sources(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield name, agent and content of the corpus, the demo, and what the programs wrote, odd files among it."""
    for agent in ("pi", "omp", "atomic"):
        for path in sorted((CORPUS / agent).rglob("*.jsonl")):
            yield f"corpus {path.name}", agent, path.read_bytes()
    demo = make_demo(folder / "demo", 1_790_000_000_000)
    for path in sorted(demo.rglob("*.jsonl")):
        if (agent := open_session(path).agent) in AGENTS:  # No program here reads those of Claude Code and Codex.
            yield f"demo {path.name}", agent, path.read_bytes()
    for agent in ("pi", "omp"):
        for each in unpack(GOLDEN / f"{agent}.tar.xz", folder / agent):
            for answer in each.answers:
                path = each.path(answer)
                yield f"{each.name} {answer['key']}", agent, path.read_bytes()
                if agent == "pi":  # the other two write what pi writes
                    yield f"{each.name} {answer['key']}", random.Random(path.name).choice(AGENTS[2:]), path.read_bytes()


def cases(folder: Path, seed: int) -> Iterator[Case]:
    """Yield cases at random, each agent, verb, damage and place as often as the others."""
    chooser = random.Random(seed)
    files: dict[str, list[tuple[str, bytes]]] = {agent: [] for agent in AGENTS}
    for name, agent, content in sources(folder):
        if len(content) <= LARGEST_BYTES:
            files[agent].append((name, content))
    for number in range(CASES):
        agent = AGENTS[number % len(AGENTS)]
        name, content = chooser.choice(files[agent])
        damage = "none" if chooser.random() < 0.2 else chooser.choice(sorted(DAMAGE))
        named = chooser.choice(["", agent, *AGENTS])
        place = chooser.choice(["own", "own", "flat", "copied store"])
        yield Case(name, agent, DAMAGE[damage](content), damage, place, named, chooser.choice(sorted(VERBS)))


# ---- verbs ---------------------------------------------------------------------------------------------------


class World(Struct, frozen=True):
    """A home of one case, in which everything that it changes lies."""

    home: Path
    around: Surroundings
    context: ChangeContext
    path: Path
    scope: Scope


def world_of(case: Case, home: Path) -> World:
    """Write the file of a case."""
    folders = {
        "own": f".{case.agent}/agent/sessions/--p--",
        "flat": "backup",
        "copied store": "backup/sessions/--p--",
    }
    path = home / folders[case.place] / "2026-08-13T08-00-00-000Z_019beea5.jsonl"
    path.parent.mkdir(parents=True)
    (home / "proc").mkdir()
    path.write_bytes(case.content)
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    context = ChangeContext.at(
        around, str(home / "state"), lambda: 1_900_000_000_000.0, lambda: os.urandom(4).hex(), str(home / "proc")
    )
    agents = (case.named,) if case.named else ()
    roots = () if case.place == "own" else (str(home / "backup"),)
    return World(home, around, context, path, Scope(around=around, roots=roots, agents=agents))


def do_rename(world: World, located: Located) -> Path:
    target = target_of(located, str(world.path))
    return Path(rename(target, "another name", context=world.context, force=True).path)


def do_clear(world: World, located: Located) -> Path:
    return Path(rename(target_of(located, str(world.path)), None, clear=True, context=world.context, force=True).path)


def entry_of(located: Located) -> str:
    ids = [entry_id for entry_id in open_session(located.path, located.agent).ids if entry_id]
    return random.Random(len(ids)).choice(ids or ["none"])


def do_label(world: World, located: Located) -> Path:
    target = target_of(located, str(world.path))
    return Path(label(target, entry_of(located), "mark", context=world.context, force=True).path)


def do_unlabel(world: World, located: Located) -> Path:
    do_label(world, located)
    target = target_of(located, str(world.path))
    return Path(label(target, entry_of(located), None, clear=True, context=world.context, force=True).path)


def do_checkout(world: World, located: Located) -> Path:
    return Path(
        checkout(target_of(located, str(world.path)), entry_of(located), context=world.context, force=True).path
    )


def do_fork(world: World, located: Located) -> Path:
    return Path(fork(located.path, located.agent, located.place, context=world.context).path)


def do_archive(world: World, located: Located) -> Path:
    return Path(archive(target_of(located, str(world.path)), context=world.context, force=True).path)


def do_unarchive(world: World, located: Located) -> Path:
    away = archive(target_of(located, str(world.path)), context=world.context, force=True)
    back = locate(away.path, world.scope)
    return Path(unarchive(target_of(back, away.path), context=world.context).path)


VERBS: dict[str, Callable[[World, Located], Path]] = {
    "rename": do_rename,
    "clear": do_clear,
    "label": do_label,
    "unlabel": do_unlabel,
    "checkout": do_checkout,
    "fork": do_fork,
    "archive": do_archive,
    "unarchive": do_unarchive,
}


# ---- the property --------------------------------------------------------------------------------------------


class Kept:
    """Copies of the files' states, one for each content, which the programs are asked about."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def __call__(self, path: Path) -> Path:
        content = path.read_bytes()
        copy = self._folder / f"{hashlib.sha1(content).hexdigest()}.jsonl"
        if not copy.exists():
            copy.write_bytes(content)
            os.utime(copy, (1_790_000_000, 1_790_000_000))
        return copy


def check(case: Case, before: Seen, after: Seen, *, own: bool, moves: bool, new: bool) -> None:
    """Compare what one program says before and after: `own` is the file's, `moves` a check out, `new` a fork."""
    if not before["opens"] or "error" in before:
        return
    assert after["opens"], "not opened"
    assert after["listed"] or not before["listed"], "not listed"
    if before.get("hangs") or not own:
        return
    assert "error" not in after, "context fails"
    assert "hangs" not in after, "hangs"
    if not new:
        assert after["ids"][: len(before["ids"])] == before["ids"] or b'"version":3' not in case.content, "ids differ"
    # omp leaves out the last line behind a damaged one, until another line follows.
    more = [entry_id for entry_id in after["ids"][len(before["ids"]) :] if entry_id]
    if not moves and not any(entry_id.encode() in case.content for entry_id in more):
        assert new or after["branch"][: len(before["branch"])] == before["branch"], "branch differs"
        assert after["context"] == before["context"], "context differs"


@pytest.fixture(scope="module")
def lookers() -> Iterator[dict[str, Look]]:
    """The programs, asked by long-lived processes."""
    try:
        with programs() as asked:
            yield asked
    except real.Unavailable as reason:
        pytest.skip(str(reason))


def test_no_change_and_no_undo_makes_a_file_unreadable(tmp_path: Path, lookers: dict[str, Look]) -> None:
    own_system_trash()
    seed = int(os.environ.get("READABLE_SEED", random.randrange(10_000)))
    print(f"seed {seed}")
    kept = Kept(tmp_path / "kept")
    told: Counter[str] = Counter()
    wrong: list[str] = []
    (tmp_path / "sources").mkdir()
    for number, case in enumerate(cases(tmp_path / "sources", seed)):
        try:
            told[one_case(case, tmp_path / f"w{number}", kept, lookers)] += 1
        except AssertionError as error:
            shown = f"{case.source} as {case.agent}, {case.damage}, {case.place}, --agent {case.named}, {case.verb}"
            wrong.append(f"{shown}: {str(error).splitlines()[0][:100]}")
    print(f"{sum(told.values())} cases: {json.dumps(told)}")
    assert not wrong, "\n".join([f"{len(wrong)} cases:", *wrong[:40]])
    assert sum(told.values()) >= 3000
    assert told["changed and undone"] >= 1000


def one_case(case: Case, home: Path, kept: Kept, lookers: dict[str, Look]) -> str:
    world = world_of(case, home)
    owner = locate(str(world.path), Scope(around=world.around, roots=world.scope.roots)).agent
    before = kept(world.path)
    marked = "omp" in marks_of_head(case.content).agents | open_session(before, "omp").marks
    try:
        located = locate(str(world.path), world.scope)
    except NoSuchSession:
        assert case.named not in ("", owner), "left out wrongly"
        assert world.path.read_bytes() == case.content, "changed though left out"
        return "left out"
    assert not case.named or located.agent == case.named, "not the named agent"
    assert case.place != "own" or located.agent == owner, "not the owner"
    try:
        changed = VERBS[case.verb](world, located)
    except SessionBrowseError:
        if case.verb not in ("unlabel", "unarchive"):
            assert world.path.read_bytes() == case.content, "changed though refused"
        return "refused"
    after = kept(changed)
    if after.read_bytes().startswith(SLOT) and not case.content.startswith(SLOT) and case.verb != "fork":
        assert marked or (case.place == "own" and case.agent == "omp"), "slot without mark"
    compare(case, located.agent, before, after, lookers, marked)
    if changed != world.path and case.verb == "fork":
        assert world.path.read_bytes() == case.content, "source of a fork changed"
    try:
        undo(context=world.context, force=True)
    except SessionBrowseError:  # nothing was to be changed, or indusagi cannot clear the first name
        return "changed"
    if case.verb == "unarchive":
        undo(context=world.context, force=True)
    undone = kept(world.path)
    if case.verb in ("fork", "archive", "unarchive"):
        assert undone == before, "undone differs"
    compare(case, located.agent, before, undone, lookers, marked, undone=True)
    return "changed and undone"


def compare(
    case: Case, agent: str, before: Path, after: Path, lookers: dict[str, Look], marked: bool, undone: bool = False
) -> None:
    """Ask the file's own program, and every real one that a title slot of omp does not concern."""
    moves = case.verb == "checkout" and not undone
    new = case.verb == "fork" and not undone
    for program, look in lookers.items():
        if program != agent and (new or program not in ("pi", "omp")):
            continue
        if program == "pi" and after.read_bytes().startswith(SLOT):
            continue
        try:
            check(case, look(before), look(after), own=program == agent, moves=moves, new=new)
        except AssertionError as error:
            raise AssertionError(f"{program}: {error}") from error
