"""Relocating: every session of a moved directory or none, by the headers, with children mended and times kept."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.services.change.relocate import Relocated, moved_directory, relocate
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find import repositories
from sessionbrowse.store.find.repositories import Candidate
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.data.sources import noting_projects
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, Store, header, line
from tests.support.file_helpers import picture

OLD, NEW = "/projects/webshop", "/srv/shop"


def write(path: Path, head: dict[str, Any], *, end: bytes = b"") -> Path:
    """Write a session that was last changed long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line(value) for value in [head, *CONVERSATION]) + end)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def world(store: Store) -> dict[str, Path]:
    """Two projects whose folders have the same name, a nested one, an unrelated one, and a child elsewhere."""
    pi, omp = store.home / ".pi/agent/sessions", store.home / ".omp/agent/sessions"
    parent = write(pi / "--projects-webshop--" / "a.jsonl", header(id="a"))
    return {
        "parent": parent,
        "below": write(pi / "--projects-webshop-api--" / "b.jsonl", header(id="b", cwd=f"{OLD}/api")),
        "neighbour": write(pi / "--projects-webshop-api--" / "c.jsonl", header(id="c", cwd=f"{OLD}-api")),
        "child": write(pi / "--other--" / "d.jsonl", header(id="d", cwd="/other", parentSession=str(parent))),
        "sibling": write(pi / "--projects-webshop--" / "e.jsonl", header(id="e", parentSession=str(parent)), end=b"{"),
        "omp": write(
            omp / "--projects-webshop--" / "f.jsonl", header(id="f", additionalDirectories=[f"{OLD}/x", "/y"])
        ),
        "scout": write(
            omp / "--projects-webshop--" / "f" / "Scout.jsonl",
            header(id="g", parentSession=str(omp / "--projects-webshop--" / "f.jsonl")),
        ),
    }


def moved(store: Store, old: str = OLD, new: str = NEW, **options: Any) -> Relocated:
    context = store.context
    return relocate(old, new, Scope(around=context.around), context=context, **options)


def head_of(path: str | Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(Path(path).read_bytes().split(b"\n")[0])
    return head


def test_all_sessions_of_the_directory_and_below_it_are_moved_and_nothing_else(store: Store) -> None:
    paths = world(store)
    before = picture(store.home)
    answer = moved(store)
    assert {Path(one.source) for one in answer.sessions} == {
        paths[name] for name in ("parent", "below", "sibling", "omp", "scout")
    }
    pi, omp = store.home / ".pi/agent/sessions", store.home / ".omp/agent/sessions"
    places = {
        "parent": pi / "--srv-shop--" / "a.jsonl",
        "below": pi / "--srv-shop-api--" / "b.jsonl",
        "neighbour": paths["neighbour"],
        "child": paths["child"],
        "sibling": pi / "--srv-shop--" / "e.jsonl",
        "omp": omp / "--srv-shop--" / "f.jsonl",
        "scout": omp / "--srv-shop--" / "f" / "Scout.jsonl",
    }
    now = picture(store.home)
    assert set(now) == {str(path) for path in places.values()}
    for name, path in places.items():
        old_content, old_time = before[str(paths[name])]
        content, time = now[str(path)]
        assert time == old_time, name
        assert content.split(b"\n", 1)[1] == old_content.split(b"\n", 1)[1], name
    assert now[str(places["neighbour"])] == before[str(paths["neighbour"])]
    assert head_of(places["parent"]) == header(id="a", cwd=NEW)
    assert head_of(places["below"])["cwd"] == f"{NEW}/api"
    assert head_of(places["child"]) == header(id="d", cwd="/other", parentSession=str(places["parent"]))
    assert head_of(places["sibling"])["parentSession"] == str(places["parent"])
    assert head_of(places["omp"])["additionalDirectories"] == [f"{NEW}/x", "/y"]
    assert head_of(places["scout"])["parentSession"] == str(places["omp"])
    assert answer.mended == (str(places["child"]),)
    assert not (pi / "--projects-webshop--").exists()
    assert open_session(places["parent"]).cwd == NEW


def test_a_dry_run_says_the_same_and_changes_nothing(store: Store) -> None:
    world(store)
    before = picture(store.home)
    dry = moved(store, dry_run=True)
    assert picture(store.home) == before
    assert dry.dry_run
    real = moved(store)
    assert (dry.sessions, dry.mended) == (real.sessions, real.mended)


def test_undo_puts_everything_back_byte_for_byte(store: Store) -> None:
    world(store)
    before = picture(store.home)
    moved(store)
    undone = undo(context=store.context)
    assert undone.verb == "relocate"
    assert picture(store.home) == before


def test_nothing_is_moved_if_one_session_may_be_in_use(store: Store) -> None:
    world(store)
    before = picture(store.home)
    store.process(77, ["pi"], cwd=f"{OLD}/api", name="pi")
    with pytest.raises(InUse, match=r"b\.jsonl"):
        moved(store)
    assert picture(store.home) == before
    moved(store, force=True)
    assert picture(store.home) != before


def test_nothing_is_moved_if_something_is_in_the_way(store: Store) -> None:
    world(store)
    write(store.home / ".pi/agent/sessions" / "--srv-shop--" / "e.jsonl", header(id="z", cwd=NEW))
    before = picture(store.home)
    with pytest.raises(RefusedWrite, match="exists already"):
        moved(store)
    assert picture(store.home) == before


def test_what_a_link_leads_to_is_never_changed(store: Store, tmp_path: Path) -> None:
    world(store)
    outside = write(tmp_path / "outside" / "x.jsonl", header(id="x"))
    sessions = store.home / ".pi/agent/sessions"
    for link, leads_to in ((sessions / "--linked--", outside.parent), (sessions / "--other--" / "x.jsonl", outside)):
        link.symlink_to(leads_to)
        before = picture(store.folder)
        with pytest.raises(RefusedWrite, match=r"link|outside"):
            moved(store)
        assert picture(store.folder) == before
        link.unlink()


def test_a_directory_without_sessions_is_refused(store: Store) -> None:
    world(store)
    with pytest.raises(RefusedWrite, match="have no sessions"):
        moved(store, "/projects/web", "/x")


@pytest.mark.parametrize(
    ("cwd", "old", "new", "expected"),
    [
        ("/a/b", "/a/b", "/c", "/c"),
        ("/a/b/", "/a/b", "/c", "/c"),
        ("/a/b/d e", "/a/b", "/c", "/c/d e"),
        ("/a/bc", "/a/b", "/c", None),
        ("", "/a/b", "/c", None),
        ("/x", "/", "/c", "/c/x"),
        ("/a/b", "/a", "/", "/b"),
        ("C:\\Users\\u\\ELM\\a", "C:\\Users\\u\\ELM", "/home/u/elm", "/home/u/elm/a"),
        ("C:\\Users\\u\\ELMO", "C:\\Users\\u\\ELM", "/home/u/elm", None),
        ("proj/a", "proj", "/w/proj", "/w/proj/a"),
    ],
)
def test_directories_are_told_at_path_boundaries(cwd: str, old: str, new: str, expected: str | None) -> None:
    assert moved_directory([cwd], [old], new) == expected


def repository(path: Path, *, remote: str | None = None, commit: str | None = None) -> Path:
    """Make what git would see, without git."""
    (path / ".git").mkdir(parents=True)
    url = f'[core]\n\tbare = false\n[remote "origin"]\n\tfetch = x\n\turl = {remote}\n' if remote else "[core]\n"
    (path / ".git" / "config").write_text(url)
    if commit:
        (path / ".git" / "first").write_text(commit)
    return path


def test_a_moved_repository_is_found_by_what_was_noted_while_it_existed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_commit(directory: str, _: float = 0) -> str | None:
        noted = Path(directory, ".git", "first")
        return noted.read_text() if noted.exists() else None

    monkeypatch.setattr(repositories, "_first_commit", first_commit)
    state = str(tmp_path / "state" / "sessionbrowse")
    work = tmp_path / "work"
    old = repository(work / "shop", remote="git@host:shop.git", commit="c1")
    by_remote = repository(work / "plain", remote="git@host:plain.git")
    repositories.note([str(old), str(by_remote), str(tmp_path / "gone")], state)
    assert set(repositories.noted(state)) == {str(old), str(by_remote)}
    old.rename(work / "renamed")
    by_remote.rename(tmp_path / "plain2")
    repository(work / "fork", remote="git@host:shop.git", commit="c2")
    (tmp_path / "elsewhere" / "shop").mkdir(parents=True)
    same = "the same repository"
    assert repositories.candidates(str(old), state) == [Candidate(str(work / "renamed"), same)]
    assert repositories.candidates(str(by_remote), state) == [Candidate(str(tmp_path / "plain2"), same)]
    # Without a note the last name decides.
    unknown = str(tmp_path / "gone" / "shop")
    by_name = Candidate(str(tmp_path / "elsewhere" / "shop"), "the same name")
    assert repositories.candidates(unknown, state) == [by_name]
    assert repositories.candidates("/nowhere/at/all", state) == []


def test_relocate_on_the_command_line(store: Store, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    world(store)
    root = str(store.home / ".pi/agent/sessions")
    assert main(["relocate", OLD, NEW, "--root", root, "--dry-run", "--json"]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert (document["done"], document["dry_run"], len(document["sessions"])) == ("relocate", True, 3)
    assert main(["relocate", OLD, NEW, "--root", root]) == 0
    captured = capsysbinary.readouterr()
    assert (
        captured.err.decode()
        == "sessionbrowse: 3 sessions moved; other sessions with a new path of their parent session: 1\n"
    )
    assert len(captured.out.splitlines()) == 3


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_project_seen_by_projects_is_offered_when_it_was_moved(
    store: Store, own_home: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(["git", "-C", str(old), *who, *words], check=True, capture_output=True, timeout=60)

    old = store.folder / "work" / "shop"
    old.mkdir(parents=True)
    git("init")
    git("commit", "--allow-empty", "-m", "first")
    root = store.home / ".pi/agent/sessions"
    write(root / "--work-shop--" / "a.jsonl", header(id="a", cwd=str(old)))
    where = ["--root", str(root)]
    assert main(["projects", *where]) == 0
    assert list(repositories.noted(str(own_home / ".local/state/sessionbrowse"))) == [str(old)]
    new = old.with_name("renamed")
    old.rename(new)
    capsysbinary.readouterr()
    assert main(["relocate", str(old), *where]) == 0
    assert capsysbinary.readouterr().out.decode() == f"{new}\n"
    assert main(["relocate", str(old), "--json", *where]) == 0
    assert json.loads(capsysbinary.readouterr().out)["candidates"] == [{"path": str(new), "why": "the same repository"}]
    assert main(["relocate", str(old), str(new), *where]) == 0
    (moved_file,) = root.rglob("a.jsonl")
    assert open_session(moved_file).cwd == str(new)
    assert main(["relocate", "/nowhere/at/all", *where]) == 1
    assert b"No possible new directory of /nowhere/at/all was found" in capsysbinary.readouterr().err


def test_noting_stops_on_request_and_keeps_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repositories, "_first_commit", lambda directory, seconds: f"first of {directory}")
    made = [repository(tmp_path / str(number)) for number in range(30)]
    turns = itertools.count()
    repositories.note(map(str, made), str(tmp_path / "state"), lambda: next(turns) == 25)
    assert len(repositories.noted(str(tmp_path / "state"))) == 25
    repositories.note(map(str, made), str(tmp_path / "state"))
    assert len(repositories.noted(str(tmp_path / "state"))) == 30


def test_the_oldest_commit_of_a_shallow_clone_is_not_taken_for_the_first(tmp_path: Path) -> None:
    shallow = repository(tmp_path / "shallow", remote="git@host:shop.git")
    (shallow / ".git" / "shallow").write_text("c9\n")
    assert repositories.mark_of(str(shallow)) == repositories.Mark("git@host:shop.git", None)


def test_the_browser_notes_aside_what_it_sees_of_existing_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "_first_commit", lambda directory, seconds: "c1")
    shop = str(repository(tmp_path / "shop"))
    exists = noting_projects(lambda paths: {path: path == shop for path in paths}, str(tmp_path / "state"))
    assert exists([shop, "/gone"]) == {shop: True, "/gone": False}
    for thread in threading.enumerate():
        if thread.name == "sessionbrowse-noting":
            thread.join(timeout=60)
    assert repositories.noted(str(tmp_path / "state")) == {shop: repositories.Mark(None, "c1")}
