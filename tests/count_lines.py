"""Count the package's lines of code: all but comments, docstrings, imports and blank lines.

`python -m tests.count_lines` prints the lines and files of each room, and their sum.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sessionbrowse"

_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Return the number of lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node):
            assert isinstance(node, ast.stmt)
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_text(node: ast.AST) -> bool:
    """Return whether this is a docstring of a module, class, function or constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def room_of(path: Path) -> str:
    """Return the room (one or two folders of the package) in which a module is."""
    return "/".join(path.relative_to(PACKAGE).parts[:-1][:2]) or "."


def lines_of_rooms() -> Counter[str]:
    """Return the lines of code of each room."""
    lines: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        lines[room_of(path)] += code_lines(path.read_text())
    return lines


def main() -> None:
    """Print the lines of each room, the largest first."""
    lines = lines_of_rooms()
    files = Counter(room_of(path) for path in PACKAGE.rglob("*.py"))
    for room, count in lines.most_common():
        print(f"{count:7,} lines {files[room]:4} files  {room}")
    print(f"{sum(lines.values()):7,} lines {sum(files.values()):4} files  in all")


if __name__ == "__main__":
    main()
