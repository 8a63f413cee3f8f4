"""Whatever a session, a name or an id says: nothing outside the session's folder and our state is ever changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sessionbrowse import SessionManager
from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.manager.environment import Environment
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import moves
from tests.faults.fault_worlds import FILE_VERBS, World
from tests.support.change_helpers import CONVERSATION, Store, entry, header, target
from tests.support.file_helpers import own_system_trash
from tests.support.watched_paths import watched

pytestmark = pytest.mark.slow


def test_the_watch_sees_what_it_should(tmp_path: Path) -> None:
    with watched() as paths:
        os.close(os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT))
        os.rename(tmp_path / "a", tmp_path / "b")
        (tmp_path / "b").read_bytes()
        os.mkdir(tmp_path / "c")
        (tmp_path / "c" / "d").mkdir()
        shutil.rmtree(tmp_path / "c")
        moves.rename(str(tmp_path / "b"), str(tmp_path / "e"))
    assert paths == {str(tmp_path / name) for name in ("a", "b", "c", "c/d", "e")}


ESCAPES = ["../../../escaped", "/escaped", "-rf", "a/../../b", "x\0y", "~/escaped", "..", "CON", "\ud800", "x" * 300]


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("text", ESCAPES)
def test_no_name_id_or_directory_leads_out(tmp_path: Path, agent: str, text: str) -> None:
    store = Store(tmp_path)
    head = header(id=text, cwd=text, parentSession=text, title=text, previousSessionFiles=[text])
    odd = entry("custom", text, "00000008", customType=text, data={"path": text})
    path = store.session(agent, [*CONVERSATION, odd], head=[head], slot="old")
    allowed = (str(path.parent) + "/", str(store.state), str(store.state.parent))
    changes = 0
    with watched() as paths:
        for change in (
            lambda: rename(target(path, agent), text, context=store.context),
            lambda: label(target(path, agent), text, text, context=store.context),
            lambda: label(target(path, agent), "00000003", text, context=store.context),
            lambda: checkout(target(path, agent), text, context=store.context),
            lambda: checkout(target(path, agent), "00000006", context=store.context),
            lambda: undo(text, context=store.context),
            lambda: undo(context=store.context),
            lambda: undo(context=store.context),
        ):
            with suppress(SessionBrowseError):
                change()
                changes += 1
    assert changes >= 5
    assert [changed for changed in paths if not changed.startswith(allowed)] == []
    assert paths


class HostileWorld(World):
    """A store whose sessions say where they want to lead, and in which links lead out of it."""

    lead: str = ""
    outside: Path

    def session(self, agent: str = "pi", name: str = "a.jsonl", **head: object) -> Path:
        """Write a session whose header wants to lead out."""
        escape = self.lead
        said = {"id": escape, "parentSession": escape, "title": escape, "previousSessionFiles": [escape]}
        if "cwd" not in head:
            said["cwd"] = f"/projects/webshop/{escape}"
        path = super().session(agent, name, **{**said, **head})
        outside = self.store.folder / "outside"
        outside.mkdir(exist_ok=True)
        (outside / "precious.jsonl").write_text("precious")
        (outside / "a.jsonl").write_text("precious too")
        for link in (path.parent / "notes", path.parent / f"{path.stem}-x.jsonl"):
            if not link.is_symlink():
                link.symlink_to(outside)
        return path


@pytest.mark.parametrize(
    "lead",
    [
        *("../../../outside", "a\0b", "\ud800"),
        *(pytest.param(lead, marks=pytest.mark.stress) for lead in ("/outside", "-rf", "~/outside")),
    ],
)
@pytest.mark.parametrize("verb", FILE_VERBS)
def test_no_verb_on_files_writes_or_removes_anything_outside(
    tmp_path: Path, own_home: Path, verb: str, lead: str
) -> None:
    own_system_trash()
    data_home = own_home / ".local" / "share"
    HostileWorld.lead = lead
    world = HostileWorld(tmp_path / "world", FILE_VERBS[verb], data_home)
    with watched() as paths:
        world.act()
    assert paths
    places = tuple(f"{world.store.home}/.{agent}/" for agent in ("pi", "omp", "atomic"))
    allowed = (*places, str(world.store.state), str(world.store.state.parent), str(data_home))
    assert [path for path in paths if not path.startswith(allowed)] == []
    assert {path.name: path.read_text() for path in (world.store.folder / "outside").iterdir()} == {
        "precious.jsonl": "precious",
        "a.jsonl": "precious too",
    }


Link = Callable[[Path, Path], object]


def linked(link: Path, outside: Path) -> None:
    """Put a link in the place of a folder."""
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    link.symlink_to(outside)


def replaced_by_link(path: Path, outside: Path) -> None:
    """Let a session lie outside, and a link to it where it was."""
    os.rename(path, outside / "moved.jsonl")
    path.symlink_to(outside / "moved.jsonl")


LINKS: dict[str, Link] = {
    "the session's own folder": lambda path, outside: linked(path.with_suffix(""), outside),
    "the archive in the project's folder": lambda path, outside: linked(path.parent / "archive", outside),
    "omp's archive": lambda path, outside: linked(path.parents[2] / "archive", outside),
    "the new project's folder": lambda path, outside: linked(path.parents[1] / "--srv-shop--", outside),
    "the session": replaced_by_link,
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    "verb", [verb for verb in FILE_VERBS if not verb.startswith(("undo", "restore", "unarchive", "unpack"))]
)
def test_no_verb_goes_through_a_link_that_leads_out(tmp_path: Path, own_home: Path, verb: str, link: str) -> None:
    own_system_trash()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (outside / "a.jsonl").write_text("precious too")
    world = World(tmp_path / "world", FILE_VERBS[verb], own_home / ".local" / "share")
    LINKS[link](world.path, outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    with watched() as paths, suppress(SessionBrowseError):
        world.act()
    is_named = link == "the session" and verb.startswith("manager appends")
    assert [path for path in paths if path.startswith(str(outside))] == [] or is_named
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before or is_named


HOSTILE_TEXTS = [
    "a\nb",
    "a\r\nb",
    "\x1b]0;x\x07",
    "\x00",
    "a\u2028b\u2029c",
    "\ud83d",
    "\udc00\ud800",
    "}\n{",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=range(len(HOSTILE_TEXTS)))
def test_no_text_breaks_a_line_or_ends_another(tmp_path: Path, agent: str, text: str) -> None:
    store = Store(tmp_path)
    path = store.session(agent, slot="old")
    before = path.read_bytes()
    for change in (
        lambda: rename(target(path, agent), text, context=store.context),
        lambda: label(target(path, agent), "00000003", text, context=store.context),
        lambda: rename(target(path, agent), f"good {text}", context=store.context),
    ):
        with suppress(SessionBrowseError):
            change()
    around = Surroundings(home=str(store.home), environ={}, cwd=str(tmp_path))
    environment = Environment(around=around, now_ms=lambda: store.now_ms, random_bytes=os.urandom, proc=str(store.proc))
    manager = SessionManager.open(path, agent=agent, environment=environment, force=True)
    manager.set_session_name(text, "user")
    manager.append_label_change("00000002", text)
    manager.append_custom_entry(text, {text: text})
    manager.append_message({"role": "user", "content": text, "timestamp": 1})
    content = path.read_bytes()
    start = 256 if agent == "omp" else 0
    assert content[start : len(before)] == before[start:]
    session = open_session(path, agent)
    assert session.problems == ()
    assert content.count(b"\n") == len(session.envelopes) + (2 if agent == "omp" else 1)
    assert not any(character in (session.name or "") for character in "\n\r\0\x1b")
    content.decode("utf-8")
