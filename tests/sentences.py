"""Draw docstrings, comments and messages of the package at random, to test whether strangers understand them.

`python -m tests.sentences SEED [COUNT]` prints 100 (or COUNT) of them with their file and line. A seed always draws the
same ones from the same code.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import textwrap
import tokenize
from collections.abc import Iterator

from msgspec import Struct

from tests.house import PACKAGE, modules, syntax

COUNT = 100
SHORTEST_MESSAGE = 4
"""Words that a string has at least to count as a message."""
SQL = ("SELECT ", "NOT EXISTS ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "WITH ")


class Sentence(Struct, frozen=True, order=True):
    """A text for people: the file and line where it stands, its kind, and what it is about (a name of the code)."""

    file: str
    line: int
    kind: str
    text: str
    about: str = ""


def sentences() -> list[Sentence]:
    """Return all docstrings, comments and messages of the package."""
    found: list[Sentence] = []
    for path in modules().values():
        file, source = str(path.relative_to(PACKAGE.parent)), path.read_text()
        found += [Sentence(file, *rest) for rest in (*_texts(syntax(path)), *_comments(source))]
    return sorted(found)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str, str, str]]:
    """Yield docstrings, also those below constants, and strings that are long enough for a message."""
    documented: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        name = "" if isinstance(node, ast.Module) else node.name
        for number, part in enumerate(node.body):
            if (
                isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
            ):
                documented.add(id(part.value))
                about = name if number == 0 else _assigned(node.body[number - 1])
                yield part.lineno, "docstring", textwrap.dedent(f"    {part.value.value}").strip(), about
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            documented.update(id(part) for part in node.values)
            text = "".join([str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            text = node.value
        else:
            continue
        if _is_message(text):
            yield node.lineno, "message", text, ""


def _comments(source: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield comments; those on successive lines are one. Headings and marks for tools are left out."""
    began = last = 0
    parts: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if parts and token.start[0] != last + 1:
            yield began, "comment", " ".join(parts), ""
            parts = []
        began = began if parts else token.start[0]
        last = token.start[0]
        text = token.string.lstrip("# ")
        if not text.startswith(("----", "noqa", "type:", "ruff:", "fmt:", "!")):
            parts.append(text)
    if parts:
        yield began, "comment", " ".join(parts), ""


def _assigned(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _is_message(text: str) -> bool:
    """Return whether a string reads as a sentence: several words, not code or SQL."""
    words = text.split()
    plain = [word for word in words if word.strip(".,:;!?()…“”'\"").isalpha()]
    return len(plain) >= SHORTEST_MESSAGE and len(plain) > len(words) * 2 // 3 and not text.strip().startswith(SQL)


def main() -> None:
    """Print sentences drawn at random."""
    parser = argparse.ArgumentParser(prog="python -m tests.sentences", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int, nargs="?", default=COUNT)
    chosen = parser.parse_args()
    for number, one in enumerate(random.Random(chosen.seed).sample(sentences(), chosen.count), 1):
        print(f"{number}. {one.kind}{f' of {one.about}' if one.about else ''} ({one.file}:{one.line})")
        print(textwrap.indent(one.text, "    "))


if __name__ == "__main__":
    main()
