"""The house keeps its rules (tests/house.py): they are read from the code, and none has an exception."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from textwrap import dedent

import pytest

from sessionbrowse.demo import make_demo
from tests import house
from tests.count_lines import code_lines
from tests.files_run import MOST_FILES, MOST_FILES_BELOW_THE_SCREEN, below_the_screen, files_of_list
from tests.places import command_places, error_places, questions
from tests.sentences import sentences


@pytest.mark.slow
def test_the_rules_are_kept() -> None:
    # One test for all, so that one worker reads the code.
    broken = {str(rule.__doc__): places for rule in house.RULES if (places := rule())}
    assert not broken, "\n".join([line for doc, places in broken.items() for line in (doc, *places)])


def test_circles_are_found_whatever_leads_into_them() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["d", "b"], "d": ["c", "e"], "e": [], "f": ["f2"], "f2": ["f"]}
    assert sorted(house.circles(graph)) == [["b", "c", "d"], ["f", "f2"]]


def test_only_code_counts_as_lines_of_code() -> None:
    source = """
        import os

        # why
        A = (
            1,
        )
        'About A.'

        def f() -> int:
            'Docstring.'
            return A[0]
    """
    assert code_lines(dedent(source)) == 5


@pytest.mark.slow
def test_a_seed_draws_the_same_twenty_places_and_each_has_an_answer() -> None:
    drawn = questions(3)
    assert len(drawn) == 20
    assert drawn == questions(3) != questions(4)
    assert all(files for _, files in drawn)
    assert {one.kind for one in sentences()} == {"docstring", "comment", "message"}


def test_few_files_take_part_in_a_list(tmp_path: Path) -> None:
    files = files_of_list(make_demo(tmp_path / "demo"), tmp_path / "cache")
    assert len(files) <= MOST_FILES, files
    assert len(below_the_screen(files)) <= MOST_FILES_BELOW_THE_SCREEN, files


def test_few_files_take_part_in_a_list_of_real_sessions(corpus: Path, tmp_path: Path) -> None:
    files = files_of_list(corpus / "pi", tmp_path / "cache")
    assert len(files) <= MOST_FILES, files
    assert len(below_the_screen(files)) <= MOST_FILES_BELOW_THE_SCREEN, files


def test_the_map_names_files_that_exist() -> None:
    text = (house.PACKAGE.parent / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+)`", text))
    named |= {file for file, _ in mapped(text, "| room | file: words of its sentences |") if "<" not in file}
    assert len(named) > 100
    assert len(text.splitlines()) <= 180
    missing = [
        name
        for name in named
        if not any(
            (base / name).is_dir() or (base / f"{name}.py").is_file() for base in (house.PACKAGE, house.TESTS.parent)
        )
    ]
    assert missing == []


def mapped(text: str, heading: str) -> list[tuple[str, str]]:
    """Return the files of a table with a row for each room, each file with what its cell says of it."""
    table = text.partition(heading)[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (?:`([a-z_/]+)`|others) \| (.*) \|$", table, re.MULTILINE)
    return [
        (f"{room}/{file}".removeprefix("/"), about)
        for room, cell in rows
        for file, about in re.findall(r"`([a-z_/<>]+)`: (.*?)(?=; `[a-z_/<>]+`: |$)", cell)
    ]


@pytest.mark.slow
def test_the_map_names_the_file_of_every_key() -> None:
    text = (house.PACKAGE.parent / "CONTRIBUTING.md").read_text()
    found: dict[str, set[str]] = {}
    for file, about in mapped(text, "| room | file: ids |"):
        for pattern in re.findall(r"`([a-z_*]+)`", about):
            for id in fnmatch.filter(command_places(), pattern):
                found.setdefault(id, set()).add(f"{file.replace('<id>', id)}.py")
    wrong = {id: files for id, files in command_places().items() if not found.get(id, set()) & files}
    assert wrong == {}


def test_the_map_quotes_the_errors_of_the_files_it_names() -> None:
    text = (house.PACKAGE.parent / "CONTRIBUTING.md").read_text()
    files_of = mapped(text, "| room | file: words of its sentences |")
    assert len(files_of) > 60
    wrong = [
        (quoted, file)
        for file, about in files_of
        for quoted in re.findall(r'"([^"]+)"', about)
        if not any(
            quoted in sentence and any(fnmatch.fnmatch(one, f"{file.replace('<agent>', '*')}.py") for one in files)
            for sentence, files in error_places().items()
        )
    ]
    assert wrong == []


def test_the_map_names_every_file_that_words_errors() -> None:
    text = (house.PACKAGE.parent / "CONTRIBUTING.md").read_text()
    named = {f"{file}.py" for file, _ in mapped(text, "| room | file: words of its sentences |")}
    unnamed = {
        sentence
        for sentence, files in error_places().items()
        if not any(file in named or file.startswith(("agents/", "tui/")) for file in files)
    }
    assert unnamed == set()
