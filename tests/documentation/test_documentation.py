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
from tests.documentation.make_docs import DOCS, pages

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
    entries = iter(_asked(["show", session["id"], "--json", *roots], capfd)["leaf_ids"])
    words = [session["id"] if word == "REF" else next(entries) if word == "ENTRY" else word for word in command]
    found = set(_keys(_asked([*words, *roots], capfd)))
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
