"""What a session manager does with files as wholes, and that it has every method that the pages name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import sessionbrowse
from sessionbrowse import SessionManager
from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from tests.manager.test_session_manager import ANSWER, QUESTION, World
from tests.support.change_helpers import LONG_AGO_NS, NOW_MS, PROJECT, lines_of
from tests.support.file_helpers import picture

SHARED = Path(__file__).resolve().parents[3] / "shared"
WORKFLOW = {"runId": "r", "stageId": "s", "stageName": "n"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# ---- the pages -----------------------------------------------------------------------------------------------


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("page", ["pi", "pi-older", "omp", "atomic", "indusagi"])
def test_every_method_of_the_pages_is_there(page: str) -> None:
    path = SHARED / "seeds" / f"{page}.md"
    if not path.exists():
        pytest.skip("the programs' pages on their format are not beside this checkout (../shared/seeds)")
    text = path.read_text()
    section = text[text.rfind("SessionManager") - 400 if page == "pi-older" else text.rfind("SessionManager API") :]
    # Some pages have lost their line ends: what a name begins with tells it from the word before.
    begins = "create|open|continue|inMemory|fork|list|new|set|append|get|branch|reset|build|is"
    names = set(re.findall(rf"((?:{begins})(?:[A-Z][A-Za-z]*)?)\(", section))
    assert len(names) >= (4 if page == "pi-older" else 20)
    assert [name for name in sorted(names) if not hasattr(SessionManager, snake(name))] == []


def words(text: str) -> list[str]:
    return text.split()


PI_152 = words(
    """
    create open continueRecent inMemory forkFrom findById list listAll newSession setSessionFile isPersisted getCwd
    getSessionDir usesDefaultSessionDir getSessionId getSessionFile getHeader getEntryCount appendMessage
    appendThinkingLevelChange appendModelChange appendUsage appendCompaction appendCustomEntry appendSessionInfo
    appendCustomMessageEntry appendContextEdit appendLabelChange getLeafId getLeafEntry getEntry getChildren
    getLabel getSessionName getBranch getEntries getTree buildContextEntries buildSessionProjection
    buildSessionContext branch resetLeaf branchWithSummary createBranchedSession
    """
)
PI_152_FUNCTIONS = words(
    """
    parseSessionEntries migrateSessionEntries buildContextEntries buildSessionContext buildSessionProjection
    sessionEntryToContextMessages getLatestCompactionEntry
    """
)
OMP = words(
    """
    getSessionName setSessionName fork moveTo listAll getDefaultSessionDir isSessionOnDisk getRecordedCwd
    appendMessageToBranch appendModelUsage appendServiceTierChange appendModeChange appendSessionInit
    appendResetBoundary appendCredentialPin getCredentialPins appendTtsrInjection getInjectedTtsrRules
    getLastModelChangeRole getAdditionalDirectories ingestReplicatedEntry close
    """
)
ATOMIC = words(
    """
    markSessionInternal flush writeBackupSnapshot appendSessionSummary getSessionNameState
    """
)


def test_every_method_of_the_programs_themselves_is_there() -> None:
    for name in (*PI_152, *OMP, *ATOMIC):
        assert callable(getattr(SessionManager, snake(name))), name
    for name in PI_152_FUNCTIONS:
        assert callable(getattr(sessionbrowse, snake(name))), name
    assert sessionbrowse.CURRENT_SESSION_VERSION == 3


# ---- omp -----------------------------------------------------------------------------------------------------


def omp_session(world: World) -> Path:
    path = world.store.session("omp")
    folder = path.with_suffix("")
    folder.mkdir()
    (folder / "1.bash.log").write_text("output")
    return path


def test_a_fork_of_omp_is_gone_over_to_and_the_source_stays(world: World) -> None:
    path = omp_session(world)
    before = picture(path.parent)
    manager = world.open(path, force=True)
    made = manager.fork()
    assert made is not None
    assert manager.get_session_file() == made != str(path)
    header = manager.get_header()
    assert header["parentSession"] == open_session(path).id
    assert header["id"] in made
    assert {file: look for file, look in picture(path.parent).items() if file in before} == before
    assert (Path(made).with_suffix("") / "1.bash.log").read_text() == "output"
    manager.append_message(QUESTION)
    assert open_session(made).problems == ()
    assert path.read_bytes() == before[str(path)][0]
    assert SessionManager.in_memory(agent="omp", environment=world.environment).fork() is None


def test_a_session_of_omp_moves_with_what_belongs_to_it_and_moves_back_by_undo(world: World) -> None:
    path = omp_session(world)
    before = picture(world.store.home / ".omp")
    manager = world.open(
        path,
        session_dir=SessionManager.get_default_session_dir(PROJECT, agent="omp", environment=world.environment),
        force=True,
    )
    moved = manager.move_to("/srv/shop")
    assert moved == manager.get_session_file()
    assert Path(str(moved)).parent == Path(
        manager.get_default_session_dir("/srv/shop", agent="omp", environment=world.environment)
    )
    assert not path.exists()
    assert (Path(str(moved)).with_suffix("") / "1.bash.log").read_text() == "output"
    assert manager.get_header()["cwd"] == manager.get_cwd() == "/srv/shop"
    assert manager.get_header()["previousSessionFiles"] == [str(path)]
    assert os.stat(str(moved)).st_mtime_ns == LONG_AGO_NS
    undo(context=world.environment.context)
    assert picture(world.store.home / ".omp") == before


def test_a_session_that_is_not_written_yet_moves_in_memory(world: World) -> None:
    manager = world.create("omp")
    manager.move_to("/srv/shop")
    manager.append_message(QUESTION)
    manager.append_message(ANSWER)
    written = Path(str(manager.get_session_file()))
    assert written.parent == Path(
        manager.get_default_session_dir("/srv/shop", agent="omp", environment=world.environment)
    )
    assert lines_of(written)[1]["cwd"] == "/srv/shop"


def test_what_is_in_the_way_of_a_move_stays(world: World) -> None:
    path = omp_session(world)
    folder = Path(SessionManager.get_default_session_dir("/srv/shop", agent="omp", environment=world.environment))
    folder.mkdir(parents=True)
    (folder / path.name).write_text("somebody else's")
    default = SessionManager.get_default_session_dir(PROJECT, agent="omp", environment=world.environment)
    manager = world.open(path, session_dir=default, force=True)
    before, cwd = picture(world.store.home / ".omp"), manager.get_cwd()
    with pytest.raises(RefusedWrite, match="exists already"):
        manager.move_to("/srv/shop")
    assert picture(world.store.home / ".omp") == before
    assert (manager.get_session_file(), manager.get_cwd()) == (str(path), cwd)


def test_an_omp_that_may_have_it_open_keeps_its_file(world: World) -> None:
    path = omp_session(world)
    os.utime(path, ns=(1, int(NOW_MS * 1_000_000)))
    with pytest.raises(InUse, match="stops saving"):
        world.open(path).move_to("/srv/shop")
    assert path.exists()


# ---- atomic --------------------------------------------------------------------------------------------------


def test_a_session_of_atomic_becomes_a_stage_of_a_workflow_by_its_header_alone(world: World) -> None:
    path = world.store.session("atomic")
    before = path.read_bytes()
    manager = world.open(path)
    manager.mark_session_internal(WORKFLOW)
    first, rest = path.read_bytes().split(b"\n", 1)
    assert rest == before.split(b"\n", 1)[1]
    assert first.startswith(before.split(b"\n", 1)[0][:-1])
    assert (manager.get_header()["internal"], manager.get_header()["workflow"]) == (True, WORKFLOW)
    assert path.stat().st_mtime_ns == LONG_AGO_NS
    manager.append_message(QUESTION)
    assert open_session(path).problems == ()
    with pytest.raises(RefusedWrite, match="none of them empty"):
        manager.mark_session_internal({"runId": "r"})
    fresh = world.create("atomic")
    fresh.mark_session_internal(WORKFLOW)
    assert fresh.get_header()["internal"] is True


def test_a_backup_of_atomic_is_a_copy_under_a_name_that_no_list_shows(world: World) -> None:
    path = world.store.session("atomic")
    manager = world.open(path)
    copy = manager.write_backup_snapshot("Compact now!")
    assert copy is not None
    assert Path(copy).read_bytes() == path.read_bytes()
    assert re.fullmatch(rf"{re.escape(path.name)}\.2027-01-15T08-00-00-\d{{3}}Z\.-ompact-now-\.bak", Path(copy).name)
    assert [Path(one.path) for one in SessionManager.list_all(agent="atomic", environment=world.environment)] == [path]
    assert world.create("atomic").write_backup_snapshot("x") is None


@pytest.mark.parametrize("agent", ["pi", "indusagi"])
def test_what_a_program_has_not_is_refused(world: World, agent: str) -> None:
    manager = world.open(world.store.session(agent), agent=agent)
    for method, words in (
        ("fork", ()),
        ("move_to", ("/x",)),
        ("mark_session_internal", (WORKFLOW,)),
        ("write_backup_snapshot", ("x",)),
    ):
        with pytest.raises(RefusedWrite, match=f"{agent} has no {method}"):
            getattr(manager, method)(*words)


def test_a_fork_of_atomic_may_be_a_stage_of_a_workflow(world: World) -> None:
    path = world.store.session("atomic")
    fork = SessionManager.fork_from(path, "/x", internal=True, workflow=WORKFLOW, environment=world.environment)
    assert (fork.get_header()["internal"], fork.get_header()["parentSession"]) == (True, str(path))
