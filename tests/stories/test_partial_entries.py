"""Entries of which every field may be missing or null: no command and no screen prints Python's None for one."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from tests.support.tui_support import Driven, browsing
from tests.support.whole_sessions import OF_ATOMIC, OF_OMP, OF_PI

Json = Any
Path_ = tuple[str | int, ...]
AGENTS = {"pi": (OF_PI, "--home-dev-webshop--"), "omp": (OF_OMP, "-webshop"), "atomic": (OF_ATOMIC, "--home-dev-web--")}
NAMES_OF_KINDS = frozenset({"type", "role"})
NOTHING = re.compile(r"\bNone\b|\bNaN\b|\bundefined\b|(?<!is )\bnull\b")
"""What programming languages call a value that is not there; a problem may be that a field is null."""
OF_PYTHON = re.compile(r"\bNone\b|\bNaN\b")
"""The rows of a tree say "undefined" and "null" where the agent itself does, and JSON says null."""


def fields(value: Json, at: Path_ = ()) -> Iterator[Path_]:
    """Yield the place of every field in an entry, except those that say what kind of thing it is."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key not in NAMES_OF_KINDS:
            yield (*at, key)
        yield from fields(item, (*at, key))


def without(value: Json, places: list[Path_], *, null: bool) -> Json:
    """Return an entry in which the fields at the places are null, or missing."""
    value = copy.deepcopy(value)
    for *above, last in sorted(places, key=len, reverse=True):
        holder = value
        for key in above:
            holder = holder[key]
        if null:
            holder[last] = None
        else:
            del holder[last]
    return value


def partial(entry: Json, *, null: bool) -> list[Json]:
    """Return an entry without all its fields, and once without each of them."""
    bare = [place for place in fields(entry) if not any(isinstance(key, int) for key in place[-1:])]
    bare = [place for place in bare if not any(place[:size] in bare for size in range(1, len(place)))]
    return [without(entry, bare, null=null), *[without(entry, [place], null=null) for place in fields(entry)]]


def session(agent: str, folder: Path, *, null: bool, every_field: bool) -> list[Path]:
    """Write a session of all partial entries, one after another; and one for each entry without any field."""
    values = [json.loads(line) for line in AGENTS[agent][0]]
    head = [value for value in values if value["type"] in ("title", "session")]
    whole = [value for value in values if value not in head]
    chain = list(head)
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, entry in enumerate(whole):
        found = partial(entry, null=null)
        paths.append(folder / f"alone-{null}-{number}.jsonl")
        own = [{**value, "id": f"alone-{number}"} if value["type"] == "session" else value for value in head]
        paths[-1].write_text("".join(json.dumps(value) + "\n" for value in [*own, found[0]]))
        for each in [entry, *(found if every_field else found[:1])]:
            parent = chain[-1]["id"] if chain[-1] not in head else None
            chain.append({**each, "id": f"{len(chain):08x}", "parentId": parent})
    paths.append(folder / f"chain-{null}.jsonl")
    paths[-1].write_text("".join(json.dumps(value) + "\n" for value in chain))
    return paths


@pytest.mark.parametrize("null", [False, True], ids=["missing", "null"])
@pytest.mark.parametrize("agent", list(AGENTS))
def test_no_command_prints_a_value_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: str, null: bool
) -> None:
    root = tmp_path / f".{agent}" / "agent" / "sessions"
    paths = session(agent, root / AGENTS[agent][1], null=null, every_field=True)
    chain = str(paths[-1])

    def check(*words: str, nothing: re.Pattern[str] = NOTHING) -> None:
        assert main(list(words)) in (0, 1), words
        out, err = capsys.readouterr()
        for line in (out + err).splitlines():
            assert nothing.search(line) is None, (words, line)

    for path in map(str, paths):
        check("show", path)
        check("context", path)
        check("tree", path, "--filter", "all", "--ids", nothing=OF_PYTHON)
        check("resume", path, "--print")
        check("doctor", path, nothing=OF_PYTHON)
    for format_ in ("markdown", "html"):
        check("export", chain, "--format", format_, nothing=OF_PYTHON)
    first, last = "00000003", f"{len(Path(chain).read_text().splitlines()) - 1:08x}"
    check("diff", chain, first, last, nothing=OF_PYTHON)
    for words in (
        "list --hidden",
        "projects",
        "labels",
        "search docs",
        "cleanup --dry-run",
        "list docs",
        "undo --list",
    ):
        check(*words.split(), *(["--root", str(root)] if words != "undo --list" else []))
    for by in ("session", "family", "project", "agent", "provider", "model", "branch", "day"):
        check("stats", "--by", by, "--root", str(root))


def check_screen(browser: Driven, nothing: re.Pattern[str] = OF_PYTHON) -> None:
    """Fail if a value that is not there stands on the screen or in a toast."""
    found = [line for line in [*browser.screen_text().splitlines(), *browser.toasts()] if nothing.search(line)]
    assert found == []


@pytest.mark.parametrize(
    ("agent", "null"),
    [
        pytest.param(agent, null, marks=() if (agent, null) in (("pi", True), ("omp", False)) else pytest.mark.stress)
        for agent in AGENTS
        for null in (False, True)
    ],
)
async def test_no_screen_draws_a_value_that_is_not_there(tmp_path: Path, agent: str, null: bool) -> None:
    folder = tmp_path / f".{agent}" / "agent" / "sessions" / AGENTS[agent][1]
    chain = session(agent, folder, null=null, every_field=False)[-1]
    async with browsing(roots=[str(tmp_path / f".{agent}")], home=str(tmp_path), painted=True) as browser:
        await browser.run("hidden", "families")
        count = browser.row_list("#sessions").count
        assert count > 10
        for _ in range(count):
            check_screen(browser, NOTHING)
            await browser.press("down")
        for keys in (["exclamation_mark"], ["C"], ["dollar_sign"], ["apostrophe"]):
            await browser.press(*keys)
            check_screen(browser, NOTHING if keys != ["exclamation_mark"] else OF_PYTHON)
            await browser.press("escape")
    for alone in folder.glob("alone-*"):
        alone.unlink()
    async with browsing(roots=[str(tmp_path / f".{agent}")], home=str(tmp_path), painted=True) as browser:
        await browser.run("hidden")
        await browser.press("full_stop", "enter")
        assert browser.screen_name == "session", chain
        await browser.press("5", "g")
        for _ in range(browser.row_list("#tree").count):
            for _ in range(4):
                check_screen(browser)
                await browser.press("tab")
            await browser.press("down")
