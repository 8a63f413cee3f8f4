"""Sessions of Claude Code and Codex in a store: found, listed, read, searched, exported, resumed, and never written."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.cli import main
from sessionbrowse.config import AgentName, Settings
from sessionbrowse.errors import CannotResume, InUse, RefusedWrite, SessionBrowseError
from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.message import records_left_out
from sessionbrowse.model.convert.conversion import count_losses
from sessionbrowse.model.convert.losses import LossCount
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import archive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.clean.doctor import examine
from sessionbrowse.services.export.export import export
from sessionbrowse.services.list.gather import gather, gather_summaries, update_index
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.resume.plan import plan
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo
from sessionbrowse.session_manager import SessionManager
from sessionbrowse.store.find.roots import Scope, root_places
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.sources import source_of
from sessionbrowse.tui.layout.parts import Fold
from sessionbrowse.tui.reading.documents import entry_body, raw_document
from sessionbrowse.tui.session.titles import facts_line
from tests.support.foreign import CLAUDE_ID, CODEX_ID, Claude, Codex, call, jsonl, said
from tests.support.session_files import header, user, written

NAMED = {"type": "thread_name_updated", "thread_name": "In the file"}
CHILD_ID = "019c0000-0000-7000-8000-000000000002"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with sessions of Claude Code and Codex, whose files are byte for byte the same after the test."""
    home = tmp_path / "home"
    file = Claude()
    file.user("make it quick")
    file.answer("a", said("I look"), call("x", command="ls"))
    file.result("x", "zebra.py")
    file.answer("b", said("It is quick now"), stop="end_turn")
    file.state("ai-title", aiTitle="Speed")
    write(home / f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl", jsonl(file.records))
    child = Claude()
    child.user("look around", isSidechain=True, parent=None, agentId="a1")
    write(home / f".claude/projects/-home-dev-app/{CLAUDE_ID}/subagents/agent-a1.jsonl", jsonl(child.records))
    write(home / ".claude/projects/-home-dev-app/agent-0a1b2c3d.jsonl", jsonl(child.records))
    rollout = Codex()
    rollout.prompt("write a giraffe")
    rollout.call("c")
    rollout.answer("Here it is")
    rollout.tokens(1000, 800, 20)
    day = home / ".codex/sessions/2026/05/01"
    write(day / f"rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl", jsonl(rollout.records))
    review = Codex(CHILD_ID, source={"subagent": "review"}, parent_thread_id=CODEX_ID)
    write(day / f"rollout-2026-05-01T10-01-00-{CHILD_ID}.jsonl", jsonl(review.records))
    archived = Codex(f"{CHILD_ID[:-1]}3")
    archived.prompt("put a giraffe away")
    write(
        home / f".codex/archived_sessions/rollout-2026-04-01T10-00-00-{CHILD_ID[:-1]}3.jsonl", jsonl(archived.records)
    )
    before = sums(home)
    yield home
    assert sums(home) == before


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))


def sums(home: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in home.rglob("*") if path.is_file()}


def around(home: Path, **environ: str) -> Surroundings:
    return Surroundings(home=str(home), environ=environ, cwd=str(home))


def context_of(home: Path, tmp_path: Path) -> ChangeContext:
    return ChangeContext.at(around(home), str(tmp_path / "state"), lambda: 2e12)


def of_agent(home: Path, agent: str) -> Summary:
    return next(one for one in gather_summaries(Scope(around=around(home))) if one.agent == agent)


def test_sessions_are_found_where_the_programs_keep_them_and_subagents_are_hidden(home: Path) -> None:
    listed = {one.agent: one for one in gather_summaries(Scope(around=around(home)))}
    claude, codex = listed["claude"], listed["codex"]
    assert len(listed) == 2
    assert (claude.id, claude.name, claude.first_message, claude.cwd) == (
        CLAUDE_ID,
        "Speed",
        "make it quick",
        "/home/dev/app",
    )
    assert (claude.message_count, claude.model, claude.status) == (4, "anthropic/claude-opus-4-5", "complete")
    assert (codex.id, codex.first_message, codex.tokens, codex.cost) == (CODEX_ID, "write a giraffe", 1020, 0)
    assert claude.bytes == os.path.getsize(claude.path)


def test_hidden_and_archived_sessions_are_listed_on_request_with_their_parents(home: Path) -> None:
    listed = gather_summaries(Scope(around=around(home), hidden=True, archived=True))
    assert sorted((one.agent, one.hidden, one.archived) for one in listed) == [
        ("claude", False, False),
        ("claude", True, False),
        ("claude", True, False),
        ("codex", False, False),
        ("codex", False, True),
        ("codex", True, False),
    ]
    parents = {one.path for one in listed if not one.hidden and not one.archived}
    assert {one.parent_path for one in listed if one.hidden} == parents


def test_the_programs_own_variables_move_their_directories(home: Path, tmp_path: Path) -> None:
    (home / ".claude").rename(tmp_path / "c")
    (home / ".codex").rename(tmp_path / "x")
    moved = around(home, CLAUDE_CONFIG_DIR=str(tmp_path / "c"), CODEX_HOME=str(tmp_path / "x"))
    assert {one.agent for one in gather_summaries(Scope(around=moved))} == {"claude", "codex"}
    (tmp_path / "c").rename(home / ".claude")
    (tmp_path / "x").rename(home / ".codex")


@pytest.mark.parametrize(
    ("root", "agents"),
    [
        ("", {"claude", "codex"}),
        (".claude", {"claude"}),
        (".claude/projects", {"claude"}),
        (".claude/projects/-home-dev-app", {"claude"}),
        (".codex", {"codex"}),
        (".codex/sessions", {"codex"}),
        (".codex/sessions/2026/05/01", {"codex"}),
    ],
)
def test_a_root_may_be_any_of_their_directories(home: Path, root: str, agents: set[str]) -> None:
    scope = Scope(around=around(home / "elsewhere"), roots=(str(home / root),))
    assert {one.agent for one in gather_summaries(scope)} == agents


def test_a_session_is_read_as_a_tree_and_at_any_place_of_the_disk(home: Path, tmp_path: Path) -> None:
    for agent in ("claude", "codex"):
        path = of_agent(home, agent).path
        copy = tmp_path / "copy.jsonl"
        copy.write_bytes(Path(path).read_bytes())
        for where in (path, str(copy)):
            session = open_session(where)
            assert session.agent == agent
            assert [session.envelopes[index].role for index in session.active_branch()] == [
                "user",
                "assistant",
                "toolResult",
                "assistant",
            ]
            assert session.refusal is None
            assert session.fields(0)["message"]["content"]


def test_the_index_knows_a_session_until_its_file_grows(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "store/.claude/projects/-home-dev-app" / f"{CLAUDE_ID}.jsonl"
    write(copy, Path(of_agent(home, "claude").path).read_bytes())
    scope = Scope(around=around(tmp_path / "store"))
    index = open_index(tmp_path / "cache", create=True)
    assert index is not None
    update_index(scope, index)
    assert [one.message_count for one in gather(scope, index).sessions] == [4]
    more = Claude()
    more.user(
        "and slow again", uuid="00000000-0000-4000-8000-000000000099", parent="00000000-0000-4000-8000-000000000004"
    )
    with copy.open("ab") as file:
        file.write(jsonl(more.records))
    update_index(scope, index)
    assert [one.message_count for one in gather(scope, index).sessions] == [5]
    index.close()


@pytest.mark.parametrize("chosen", [["codex"], ["claude", "pi"]])
def test_a_setting_chooses_whose_sessions_are_listed(
    home: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    chosen: list[AgentName],
) -> None:
    settings = own_home / ".config/sessionbrowse/config.toml"
    write(settings, f"show_agents = {json.dumps(chosen)}\n".encode())
    unlisted = of_agent(home, "claude" if "codex" in chosen else "codex")
    monkeypatch.setenv("HOME", str(home))

    def listed(*arguments: str) -> set[str]:
        assert main(["list", "--json", *arguments]) == 0
        return {one["agent"] for one in json.loads(capfd.readouterr().out)}

    assert listed() == set(chosen) - {"pi"}
    assert listed("--agent", unlisted.agent) == {unlisted.agent}
    for reference in (unlisted.path, unlisted.id or ""):
        assert main(["show", reference]) == 0
    assert unlisted.agent in capfd.readouterr().out
    options = BrowseOptions(settings=Settings(show_agents=tuple(chosen)), home=str(home), environ={"HOME": str(home)})
    shown = [one.agent for batch in source_of(options).scan(lambda: False, False) for one in batch.summaries]
    assert set(shown) == set(chosen) - {"pi"}
    assert options.request().agents == tuple(chosen)


def test_records_that_are_no_entries_are_counted_where_a_person_looks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = Claude(cwd=str(tmp_path))
    file.user("go")
    file.state("mode", mode="normal")
    file.state("mode", mode="plan")
    file.answer("a", said("yes"))
    file.add("progress")
    file.add("novelty")
    file.user("more", parent="ffffffff-0000-4000-8000-000000000000")
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(file.records))
    assert main(["show", str(path)]) == 0
    assert "left out   2 mode, 1 missing parent, 1 progress, 1 unknown: novelty" in capfd.readouterr().out
    session = open_session(path)
    summary = summarise_path(str(path), lambda _: "claude")
    assert summary is not None
    bar = facts_line(summary, session, "!")
    assert "5 records left out · 4 entries · 1 branch" in "".join(text for text, _ in bar)
    damage = {one.kind: one for one in examine(str(path), "claude").damage}
    assert set(damage) == {"missing-parent", "newer-format"}
    assert "1 record of the kind novelty" in damage["newer-format"].reason
    assert all(not one.can_do for one in damage.values())


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("size", [10, 200_000, 3_000_000])
def test_a_long_first_line_changes_nothing_at_any_door(tmp_path: Path, agent: str, size: int) -> None:
    folder, claude_file = tmp_path / "backup" / "Saved", Claude(cwd="/home/dev/app")
    folder.mkdir(parents=True)
    if agent == "claude":
        claude_file.state("file-history-snapshot", messageId="m", snapshot={"a.py": "x" * size})
        claude_file.user("x" * size)
        records, name = claude_file.records, f"{CLAUDE_ID}.jsonl"
    else:
        records = Codex(cwd="/home/dev/app", base_instructions={"text": "x" * size}).records
        name = f"rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
    path = folder / name
    path.write_bytes(jsonl(records))
    session = open_session(path)
    assert session.header is not None
    told = header_of(str(path))
    assert (told.id, told.cwd) == (session.header.id, session.header.cwd)
    assert told.cwd == "/home/dev/app"
    places = root_places(str(folder), Surroundings(environ={}, home=str(tmp_path), cwd=str(tmp_path)))
    assert agent in {place.agent for place in places}


@pytest.mark.parametrize(("agent", "name"), [("claude", "Claude Code"), ("codex", "Codex")])
def test_the_context_says_that_the_rules_are_not_published(
    home: Path, capfd: pytest.CaptureFixture[str], agent: str, name: str
) -> None:
    path = of_agent(home, agent).path
    note = f"As the file tells it; {name}'s own rules are not published."
    assert main(["context", path]) == 0
    assert note in capfd.readouterr().err
    assert build(open_session(path)).note == note


CHANGES: list[tuple[str, Callable[[Target, ChangeContext], object]]] = [
    ("rename", lambda target, context: rename(target, "x", context=context)),
    ("label", lambda target, context: label(target, open_session(target.path).ids[0] or "", "x", context=context)),
    ("checkout", lambda target, context: checkout(target, open_session(target.path).ids[1] or "", context=context)),
    ("fork", lambda target, context: fork(target.path, context=context)),
    ("archive", lambda target, context: archive(target, context=context)),
    ("append", lambda target, _: SessionManager.open(target.path).append_session_info("x")),
]


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize(("verb", "change"), CHANGES, ids=[verb for verb, _ in CHANGES])
def test_every_change_is_refused_in_one_sentence_that_names_the_way(
    home: Path, tmp_path: Path, agent: str, verb: str, change: Callable[[Target, ChangeContext], object]
) -> None:
    with pytest.raises(RefusedWrite) as raised:
        change(Target(of_agent(home, agent).path), context_of(home, tmp_path))
    assert raised.value.sentence.endswith("which sessionbrowse only reads: continue it in pi, omp or atomic.")


def test_the_command_line_names_the_command_that_continues_them(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rename", of_agent(home, "claude").path, "x"]) == 1
    assert capfd.readouterr().err.endswith("`sessionbrowse convert REF --to pi` does that.\n")


def test_a_move_of_a_directory_says_that_their_sessions_stay(home: Path, tmp_path: Path) -> None:
    scope = Scope(around=around(home))
    stay = "6 sessions of Claude Code or Codex stay at the old path: only their own program changes them."
    with pytest.raises(RefusedWrite) as raised:
        relocate("/home/dev/app", "/home/dev/new", scope, context=context_of(home, tmp_path))
    assert raised.value.sentence.endswith(f"have no sessions that can be moved. {stay} Nothing was changed.")
    own = home / ".pi/agent/sessions/--home-dev-app--"
    own.mkdir(parents=True)
    path = written(own, header(cwd="/home/dev/app"), user("a", None, "hi"), name="2026-05-01T10-00-00-000Z_a.jsonl")
    moved = relocate("/home/dev/app", "/home/dev/new", scope, context=context_of(home, tmp_path))
    assert (len(moved.sessions), moved.notes) == (1, (stay,))
    Path(moved.sessions[0].target).unlink()
    assert not path.exists()


def test_an_answer_that_a_fork_copied_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"))
    folder, counts = tmp_path / ".claude/projects/-home-dev-app", []
    for name, more in ((CLAUDE_ID, ""), (CHILD_ID, "b")):
        if more:
            file.answer(more, said("more"))
        write(folder / f"{name}.jsonl", jsonl(file.records))
        assert main(["stats", "--json"]) == 0
        counts.append(json.loads(capsys.readouterr().out)["total"]["tokens"])
    assert counts[1] == 2 * counts[0]


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_title_in_the_database_of_codex_counts_after_its_names_and_reading_it_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_elsewhere: bool
) -> None:
    shared, rollout = tmp_path / ".codex", Codex()
    databases = shared
    if is_elsewhere:
        databases = tmp_path / "databases"
        databases.mkdir()
        monkeypatch.setenv("CODEX_SQLITE_HOME", str(databases))
    rollout.prompt("write a giraffe")
    path = shared / f"sessions/2026/05/01/rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
    write(path, jsonl(rollout.records))

    def name() -> str | None:
        before = sorted(os.listdir(databases))
        found, session = of_agent(tmp_path, "codex").name, open_session(path)
        assert session.name == found
        assert session.offsets == places
        assert sorted(os.listdir(databases)) == before
        return found

    def titled(title: str, first: str = "write a giraffe", number: int = 5) -> Path:
        database = databases / f"state_{number}.sqlite"
        database.unlink(missing_ok=True)
        with closing(sqlite3.connect(database)) as made:
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("CREATE TABLE threads (id TEXT, title TEXT, first_user_message TEXT)")
            made.execute("INSERT INTO threads VALUES (?, ?, ?)", (CODEX_ID, title, first))
            made.commit()
        return database

    places = open_session(path).offsets
    assert name() is None
    database = titled("Giraffes")
    assert name() == "Giraffes"
    titled("write a", first="write a giraffe now")
    assert name() is None
    titled("Giraffes and zebras", number=6)
    assert name() == "Giraffes and zebras"
    with closing(sqlite3.connect(databases / "state_6.sqlite")) as running:
        running.execute("UPDATE threads SET title = 'Being written'")
        running.commit()
        assert (databases / "state_6.sqlite-wal").stat().st_size
        assert name() is None
    database.with_name("state_7.sqlite").write_bytes(b"no database")
    assert name() is None
    titled("Giraffes", number=8)
    with path.open("ab") as file:
        file.write(jsonl([{"timestamp": "x", "type": "event_msg", "payload": NAMED}]))
    places = open_session(path).offsets
    assert name() == "In the file"
    (shared / "session_index.jsonl").write_bytes(jsonl([{"id": CODEX_ID, "thread_name": "In the index"}]))
    assert name() == "In the index"


@pytest.mark.parametrize("name", [f"{CLAUDE_ID}.jsonl", f"{CLAUDE_ID}/subagents/agent-a1.jsonl"])
def test_the_whole_of_a_long_output_is_shown_from_the_file_in_the_sessions_folder(tmp_path: Path, name: str) -> None:
    outputs, file = tmp_path / CLAUDE_ID / "tool-results", Claude()
    at = "/elsewhere/projects/-home-dev-app/x/tool-results/b1.txt"
    told = f"<persisted-output>\nOutput too large (45KB). Full output saved to: {at}\n\nPreview:\nzebra"
    file.user("go")
    file.answer("a", call("x"), call("y"))
    file.result("x", told)
    file.result("y", "see tool-results/b2.txt")
    write(tmp_path / name, jsonl(file.records))
    write(outputs / "b1.txt", b"zebra\nand a giraffe")
    write(outputs / "b2.txt", b"no")
    session = open_session(tmp_path / name)

    def shown(index: int) -> list[str]:
        parts = entry_body(session, index, session.entry(index))
        folded = [inner for part in parts if isinstance(part, Fold) for inner in part.body()]
        return ["".join(words for words, _ in row) for part in (*parts, *folded) for row in part.rows(100)]

    count = LossCount()
    count_losses(session, [json.loads(session.raw(index)) for index in range(len(session.ids))], "pi", count)
    assert ("output_file", 1) in [(loss.kind, loss.count) for loss in count.losses()]
    assert any("and a giraffe" in row for row in shown(2))
    assert not any("whole output" in row for row in shown(3))
    for gone in (lambda: (outputs / "b1.txt").unlink(), lambda: (outputs / "b1.txt").symlink_to(tmp_path / name)):
        gone()
        assert "The file with the whole output, b1.txt, cannot be read." in shown(2)
    (outputs / "b1.txt").unlink()
    write(tmp_path / "b1.txt", b"not of this session")
    (outputs / "b2.txt").unlink()
    outputs.rmdir()
    outputs.symlink_to(tmp_path)
    assert "The file with the whole output, b1.txt, cannot be read." in shown(2)


@pytest.mark.parametrize("change", ["cut in the middle of the answer", "copied at another time", "carried to pi"])
def test_an_answer_is_counted_once_over_files_by_the_id_of_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    for name, place in (("HOME", "."), ("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "s")):
        monkeypatch.setenv(name, str(tmp_path / place))
    file, counts = Claude(cwd=str(tmp_path)), []
    file.user("go")
    file.answer("a", said("I look"), output=5)
    file.answer("a", call("x"), output=70)
    file.result("x")
    folder = tmp_path / ".claude/projects/-home-dev-app"
    write(folder / f"{CLAUDE_ID}.jsonl", jsonl(file.records))
    for arguments in (["stats", "--json"], ["index", "--rebuild"], ["stats", "--json"]):
        assert main(arguments) == 0
        counts += [json.loads(capsys.readouterr().out)["total"]["tokens"]] if arguments[0] == "stats" else []
        capsys.readouterr()
        if change == "carried to pi":
            assert main(["convert", CLAUDE_ID, "--to", "pi", "--json"]) == 0
            capsys.readouterr()
            continue
        copy = [dict(record, sessionId=CHILD_ID) for record in file.records]
        if change == "cut in the middle of the answer":
            del copy[2:]
        else:
            copy = [dict(record, timestamp="2026-06-01T10:00:00.000Z") for record in copy]
        write(folder / f"{CHILD_ID}.jsonl", jsonl(copy))
    assert counts == [193, 193]


def test_shells_complete_their_ids_from_the_index(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, folder in (("HOME", home), ("XDG_CACHE_HOME", tmp_path / "cache"), ("XDG_STATE_HOME", tmp_path / "s")):
        monkeypatch.setenv(name, str(folder))
    assert main(["index"]) == 0
    capsys.readouterr()
    for session_id in (CLAUDE_ID, CODEX_ID):
        main(["__complete", "show", session_id[:12]])
        assert session_id in capsys.readouterr().out


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_deleted_session_goes_with_its_folder_and_comes_back_by_one_undo(
    home: Path, tmp_path: Path, agent: str
) -> None:
    context, path = context_of(home, tmp_path), of_agent(home, agent).path
    before = sums(home)
    gone = delete(Target(path), into="own", context=context)
    left = {one.agent for one in gather_summaries(Scope(around=around(home)))}
    assert left == {"claude", "codex"} - {agent}
    assert not os.path.lexists(path.removesuffix(".jsonl"))
    undo(gone.undo_id, context=context)
    assert sums(home) == before


def test_a_session_that_changed_just_now_is_not_deleted(home: Path, tmp_path: Path) -> None:
    path = of_agent(home, "claude").path
    soon = ChangeContext.at(around(home), str(tmp_path / "state"), lambda: 10**12 + 1000.0)
    with pytest.raises(InUse, match="into a file without what came before"):
        delete(Target(path), into="own", context=soon)


@pytest.mark.parametrize(("agent", "made"), [("claude", Claude), ("codex", Codex)])
def test_damage_is_told_at_its_line_in_the_programs_own_file(
    tmp_path: Path, agent: str, made: type[Claude] | type[Codex]
) -> None:
    file = made()
    if isinstance(file, Claude):
        file.user("hi")
        file.answer("a", said("done"), stop="end_turn")
    else:
        file.prompt("hi")
        file.answer("done")
    records = jsonl(file.records).splitlines(keepends=True)
    lines = [*records[:2], b"[1]\n", *records[2:], b"[" * 2000 + b"\n", b'"x"\n', b'{"torn":']
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    bad = [number for number, one in enumerate(lines) if one not in records]
    places = [(number + 1, len(b"".join(lines[:number]))) for number in bad]
    session = open_session(str(path), agent)
    assert list(dict.fromkeys((one.line, one.offset) for one in session.problems)) == places
    found = [one for one in examine(str(path), agent).damage if one.kind != "missing-directory"]
    assert [(one.line, one.offset, one.entry_id) for one in found] == [(*place, None) for place in places]
    raw = "".join(part.plain() for part in raw_document(session, 0, 0.0)[:3])
    assert "own records, as pi would write them" in raw


def test_an_export_as_jsonl_is_the_files_own_lines(home: Path) -> None:
    path = of_agent(home, "codex").path
    assert b"".join(export(path, "codex", "jsonl")) == Path(path).read_bytes()
    assert b"giraffe" in b"".join(export(path, "codex", "markdown"))


def test_a_session_is_resumed_by_its_id_in_its_own_program(home: Path) -> None:
    here = around(home, CLAUDE_CODE_CHILD_SESSION="1")
    claude = plan(of_agent(home, "claude").path, "claude", here, must_start=False)
    assert (claude.argv, claude.cwd) == (("claude", "--resume", CLAUDE_ID), "/home/dev/app")
    assert "CLAUDE_CODE_CHILD_SESSION" not in claude.environment(here.environ)
    assert claude.bare_line() == f"env -u CLAUDE_CODE_CHILD_SESSION claude --resume {CLAUDE_ID}"
    codex = plan(of_agent(home, "codex").path, "codex", here, must_start=False)
    assert codex.argv == ("codex", "resume", CODEX_ID)


def test_subagents_of_claude_code_and_archived_threads_are_not_resumed(home: Path) -> None:
    with pytest.raises(CannotResume, match="subagent"):
        plan(home / ".claude/projects/-home-dev-app/agent-0a1b2c3d.jsonl", "claude", around(home), must_start=False)
    (archived,) = (home / ".codex/archived_sessions").iterdir()
    with pytest.raises(CannotResume, match="run `codex unarchive"):
        plan(archived, "codex", around(home), must_start=False)


def test_a_file_with_only_the_state_of_the_program_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl([{"type": "summary", "summary": "x", "leafUuid": "y"}]))
    with pytest.raises(SessionBrowseError, match="without a conversation"):
        open_session(path)


def test_an_unfinished_last_line_is_no_damage(tmp_path: Path) -> None:
    file = Claude()
    file.user("go")
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(file.records) + b'{"parentUuid":"x","type":"user","uu')
    session = open_session(path)
    assert (len(session.ids), session.torn) == (1, True)
    path.write_bytes(jsonl(file.records) + b"damaged\n" + jsonl(file.records))
    assert len(open_session(path).problems) == 1


def test_a_session_is_read_however_long_the_lines_before_its_first_record_are(tmp_path: Path) -> None:
    pasted, backups, old = Claude(), Claude(), Codex()
    pasted.state("queue-operation", operation="enqueue", content="x" * 200_000)
    pasted.state("queue-operation", operation="popAll")
    backups.state("file-history-snapshot", messageId="m", snapshot={"trackedFileBackups": {"a.py": "x" * 200_000}})
    for number in range(200):
        backups.records.append({"type": "summary", "summary": f"Title {number}", "leafUuid": str(number)})
    old.prompt("go")
    unwrapped = [{"id": CODEX_ID, "timestamp": old.records[0]["timestamp"], "instructions": "x" * 200_000, "git": {}}]
    unwrapped += [record["payload"] for record in old.records if record["type"] == "response_item"]
    for file in (pasted, backups):
        file.user("go")
    files = [("claude", pasted.records), ("claude", backups.records), ("codex", unwrapped)]
    for number, (agent, records) in enumerate(files):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(jsonl(records))
        session = open_session(path)
        assert [session.envelopes[index].role for index in session.active_branch()] == ["user"]
        summary = summarise_path(str(path), lambda _, agent=agent: agent)  # type: ignore[misc]
        assert summary is not None
        assert (summary.first_message, summary.problem) == ("go", None)


@pytest.mark.parametrize(("agent", "name"), [("claude", "Claude Code"), ("codex", "Codex")])
@pytest.mark.parametrize("content", [b"", b"\n\n", b'{"a":1}\n', b'{"type":"novelty"}\n'])
def test_of_a_file_without_a_session_no_rule_of_its_program_is_claimed(
    tmp_path: Path, agent: str, name: str, content: bytes
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    summary = summarise_path(str(path), lambda _: agent)
    assert summary is not None
    assert summary.problem == f"no session of {name}"
    damage = [(one.kind, one.reason, one.can_do) for one in examine(str(path), agent).damage]
    reason = f"no session of {name}: no line is a record of one"
    assert damage == [("no-session", reason, ()) if content else ("empty-file", "the file is empty", ())]


def test_a_record_without_a_type_is_counted_by_a_name(tmp_path: Path) -> None:
    file = Claude(cwd=str(tmp_path))
    file.user("go")
    file.add("")
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(file.records))
    reasons = [one.reason for one in examine(str(path), "claude").damage]
    assert reasons == ["1 record of the kind without type, which is not known: kept, and shown as hidden entries"]


def test_a_thread_whose_beginning_is_in_another_file_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = {"thread_id": CHILD_ID, "end_ordinal_exclusive": 4, "end_byte_offset": 900}
    for thread, parent in ((CODEX_ID, CHILD_ID), (CHILD_ID, None)):
        file = Codex(thread, history_mode="paginated", history_base=base)
        file.prompt("go on")
        path = tmp_path / f"rollout-2026-05-01T10-00-00-{thread}.jsonl"
        path.write_bytes(jsonl(file.records))
        session = open_session(path)
        assert session.header is not None
        assert session.header.parent_session == parent
        assert records_left_out(session)["earlier history in another file"] == 1
        assert main(["convert", str(path), "--to", "pi", "--dry-run"]) == 0
        assert "the beginning of the conversation, which is in another session or file: 1" in capsys.readouterr().out
