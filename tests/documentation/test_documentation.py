"""The pages of `docs/` are current, and what they tell people to type works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.parser import AGENT_NAMES
from sessionbrowse.demo import make_demo
from sessionbrowse.tui.commands.command import CONTEXT_STACKS, EVERYWHERE
from tests.documentation.make_docs import DOCS, pages
from tests.documentation.screen_pages import SCREENS
from tests.support.mirrors import mirror

MADE = pages()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_a_page_is_what_the_program_says(path: Path):
    assert path.read_text() == MADE[path], "run make docs"


def test_the_man_page_is_read_without_a_warning():
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    page = DOCS / "sessionbrowse.1"
    command = ["groff", "-man", "-Tutf8", "-ww", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert "the settings file" in " ".join(done.stdout.split())


SECTIONS = [
    (title, command.split(), body)
    for title, command, body in re.findall(
        r"^## (\w+)\n\n`sessionbrowse ([^`]+)`(.*?)(?=^## |\Z)",
        (DOCS / "json.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
]


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    demo = make_demo(tmp_path_factory.mktemp("demo"))
    return [word for agent in AGENT_NAMES for word in ("--root", str(demo / agent))]


@pytest.mark.parametrize(("title", "command", "body"), SECTIONS, ids=[title for title, _, _ in SECTIONS])
def test_the_keys_of_a_document_are_those_that_the_page_lists(title, command, body, roots, capfd):
    session = next(one for one in _asked(["list", "--json", *roots], capfd) if one["label_count"] and one["name"])
    if title == "machines":
        mirror("mini")
    entries = iter(_asked(["show", session["id"], "--json", *roots], capfd)["leaf_ids"])
    words = [session["id"] if word == "REF" else next(entries) if word == "ENTRY" else word for word in command]
    found = set(_keys(_asked([*words, *([] if title in ("config", "machines") else roots)], capfd)))
    listed = {
        key for cell in re.findall(r"^\| (`.*?) \|", body, re.MULTILINE) for key in re.findall(r"`([^`]+)`", cell)
    }
    below = {key.removesuffix("*") for key in listed if key.endswith("*")}
    parts = {key[: at.start()] for key in listed for at in re.finditer(r"\.", key)}
    assert {key for key in found - listed - parts if not key.startswith(tuple(below))} == set()
    empty = {
        "parent_session",
        "labels.*",
        "label_times.*",
        "problems.line",
        "problems.offset",
        "problems.reason",
        "env.*",
    }
    assert {key for key in listed - found if key.removesuffix(".*") not in found} <= empty


def test_the_keys_that_changes_print_are_those_that_the_page_lists(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    demo = make_demo(tmp_path / "demo")
    roots = [word for agent in AGENT_NAMES for word in ("--root", str(demo / agent))]
    sessions = _asked(["list", "--json", *roots], capfd)
    jwt = next(one for one in sessions if one["name"] == "Refactor auth module")["path"]
    torn = next(one for one in sessions if one["problem_count"])["path"]
    gone = next(one["cwd"] for one in _asked(["projects", "--json", *roots], capfd) if one["exists"] is False)
    (tmp_path / "moved").mkdir()
    page = (DOCS / "json.md").read_text().partition("## Changes")[2]
    rows, _, more = page.partition("print more")
    copied = re.findall(r"`([a-z_]+)`", rows + more.partition("`undo --list`")[0]) + re.findall(r"`([a-z]+)\.\*`", more)
    arrays = ("delete", "archive", "unarchive", "shrink", "doctor")
    for line in (
        ["rename", jwt, "Auth"],
        ["label", jwt, "jwt-works", "JWT"],
        ["checkout", jwt, "JWT"],
        ["fork", jwt],
        ["convert", jwt, "--to", "atomic"],
        ["archive", torn],
        ["undo"],
        ["delete", torn, "--yes", "--own-trash"],
        ["restore"],
        ["relocate", gone, str(tmp_path / "moved")],
        ["prune", jwt, "--abandoned", "--to", str(tmp_path / "pruned.jsonl")],
        ["shrink", jwt, "--images", "--to", str(tmp_path / "small.jsonl")],
        ["doctor", torn, "--repair-to", str(tmp_path / "mended.jsonl")],
    ):
        verb = line[0]
        printed = _asked([*line, "--json", *([] if verb in ("undo", "restore") else roots)], capfd)
        assert isinstance(printed, list) == (verb in arrays), verb
        document = printed[0] if isinstance(printed, list) else printed
        if verb in ("undo", "restore"):
            assert main(["undo", document["undo_id"]]) == 1, verb
            assert capfd.readouterr().err.endswith((" again instead.\n", "undone already.\n")), verb
        own = [
            key
            for keys, verbs in re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", rows, re.MULTILINE)
            if verbs == "all" or f"`{verb}`" in verbs
            for key in re.findall(r"`([a-z_]+)(?:\.\*)?`", keys)
        ]
        if verb in ("prune", "shrink", "doctor"):
            assert set(document) <= set(copied), verb
        else:
            assert set(document) == set(own), verb
    for words in (["undo", "--list"], ["restore", "--list"]):
        assert {key for one in _asked([*words, "--json"], capfd) for key in one} <= set(
            re.findall(r"`([a-z_]+)`", more)
        )


def _asked(words: list[str], capfd: pytest.CaptureFixture[str]) -> Any:
    assert main(words) in (0, 1)
    return json.loads(capfd.readouterr().out)


def _keys(value: object, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield prefix + key
            yield from _keys(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, prefix)


def test_a_search_finds_what_the_page_of_searches_says_of_ids(roots: list[str], capfd: pytest.CaptureFixture[str]):
    assert "the session with an id that begins so, from four characters on" in (DOCS / "search.md").read_text()
    wanted = next(one for one in _asked(["list", "--json", *roots], capfd) if one["name"] == "Refactor auth module")
    for length, found in ((8, True), (4, True), (3, False)):
        hits = _asked(["search", wanted["id"][:length], "--limit", "100", "--json", *roots], capfd)
        assert (wanted["path"] in {hit["path"] for hit in hits}) is found, length


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_page_of_formats_names_variables_and_versions_that_the_program_knows() -> None:
    known = "".join(path.read_text() for path in (DOCS.parent / "sessionbrowse").rglob("*.py"))
    named = set(
        re.findall(r"`([A-Z]+_[A-Z_]+|sessionDir|firstKeptEntryId|[a-z]+_[a-z_]+)`", (DOCS / "formats.md").read_text())
    )
    assert len(named) > 15
    assert [name for name in sorted(named) if name not in known] == []


def test_the_page_of_platforms_names_what_the_program_uses() -> None:
    known = "".join(path.read_text() for path in (DOCS.parent / "sessionbrowse").rglob("*.py"))
    calls = (
        "renameat2 renamex_np F_FULLFSYNC lsof msvcrt.locking fcntl.flock wl-copy xclip xsel pbcopy xdg-open wslview"
    )
    page = (DOCS / "platforms.md").read_text()
    for call in calls.split():
        assert call in known, call
        assert call.removeprefix("fcntl.") in page, call


def test_every_screen_of_the_program_is_on_its_page() -> None:
    places = {place for _, _, _, contexts in SCREENS for place in contexts}
    assert places == {place for stack in CONTEXT_STACKS for place in stack} - {EVERYWHERE}
