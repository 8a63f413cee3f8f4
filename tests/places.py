"""Draw twenty questions "in which file is this?" that test whether a stranger finds places by their names.

`python -m tests.places SEED` prints seven keys of the command table, five entry types, four toasts and four errors.
`--answers` adds the files that define each of them; any of these files is a right answer. A seed always draws the same
questions from the same code.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sessionbrowse.format.codec import ENTRY_TYPES, PLAIN_TYPES
from sessionbrowse.format.entries import PlainEntry
from sessionbrowse.tui.commands.table import BY_ID
from tests.house import PACKAGE, modules, nodes

COMMANDS, ENTRIES, TOASTS, ERRORS = 7, 5, 4, 4
SHORTEST_SENTENCE = 3
HANDLER = "do_"


@cache
def command_places() -> dict[str, set[str]]:
    """Return the files in which each command of the table is carried out."""
    places: dict[str, set[str]] = {}
    for path in modules().values():
        for node in nodes(path):
            names = [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                if name.startswith(HANDLER):
                    places.setdefault(name.removeprefix(HANDLER), set()).add(_shown(path))
    return {name: files for name, files in places.items() if name in BY_ID}


@cache
def entry_places() -> dict[str, set[str]]:
    """Return the file in which the struct of each entry type is defined; types without their own are only listed."""
    structs = {name: {_shown(modules()[kind.__module__])} for name, kind in ENTRY_TYPES.items()}
    listed = {_shown(modules()[module]) for module in ("sessionbrowse.format.codec", PlainEntry.__module__)}
    return structs | dict.fromkeys(PLAIN_TYPES, listed)


@cache
def toast_places() -> dict[str, set[str]]:
    """Return the files that hold each sentence which is shown as a toast."""
    return _sentences(
        (path, node.args[0])
        for path in modules().values()
        for node in nodes(path)
        if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("say", "notify")
        and ast.unparse(node.func.value).split(".")[-1] in ("browser", "app", "self")
    )


@cache
def error_places() -> dict[str, set[str]]:
    """Return the files that hold each sentence with which an error of ours is raised."""
    return _sentences(
        (path, argument)
        for path in modules().values()
        for node in nodes(path)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        if ast.unparse(node.exc.func) in _errors()
        for argument in node.exc.args[:1]
    )


def questions(seed: int) -> list[tuple[str, set[str]]]:
    """Return the twenty questions of a seed, each with the files that are right."""
    rng = random.Random(seed)

    def drawn(places: dict[str, set[str]], count: int) -> list[tuple[str, set[str]]]:
        return [(name, places[name]) for name in rng.sample(sorted(places), count)]

    return [
        *[
            (f"Where is decided what the key for “{id}” does?", files)
            for id, files in drawn(command_places(), COMMANDS)
        ],
        *[(f"Where is the entry type “{name}” defined?", files) for name, files in drawn(entry_places(), ENTRIES)],
        *[(f"Where does the toast “{text}” come from?", files) for text, files in drawn(toast_places(), TOASTS)],
        *[(f"Where does the error “{text}” come from?", files) for text, files in drawn(error_places(), ERRORS)],
    ]


def main() -> None:
    """Print the questions."""
    parser = argparse.ArgumentParser(prog="python -m tests.places", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--answers", action="store_true", help="print the right files too")
    chosen = parser.parse_args()
    for number, (question, files) in enumerate(questions(chosen.seed), 1):
        print(f"{number:2}. {question}")
        if chosen.answers:
            print(f"    {', '.join(sorted(files))}")


# ---- private -----------------------------------------------------------------------------------------------


def _shown(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def _errors() -> set[str]:
    """Return the names of the errors whose sentence a user reads, and of those made of them elsewhere."""
    found = {"SessionBrowseError"}
    while True:
        more = {
            node.name
            for path in modules().values()
            for node in nodes(path)
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).split(".")[-1] in found for base in node.bases)
        }
        if more <= found:
            return found
        found |= more


def _sentences(found: Iterator[tuple[Path, ast.expr]]) -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}
    for path, argument in found:
        for text in _texts(argument):
            if len([word for word in text.split() if word.isalpha()]) >= SHORTEST_SENTENCE:
                places.setdefault(text, set()).add(_shown(path))
    return places


def _texts(argument: ast.expr) -> Iterator[str]:
    """Yield the sentences written in an argument, with `…` where a value is put in."""
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join([str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts])
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)


if __name__ == "__main__":
    main()
