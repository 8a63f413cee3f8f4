"""The house keeps its order: imports point left, and only the interface knows the interface's library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sessionbrowse"
# From left to right; what stands in one group may import each other.
ORDER = (
    ("errors", "text", "config"),
    ("format",),
    ("model",),
    ("agents",),
    ("store",),
    ("services",),
    ("manager", "session_manager"),
    ("demo",),
    ("tui",),
    ("cli",),
    ("__init__", "__main__"),
)
ROOM = {name: number for number, group in enumerate(ORDER) for name in group}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_imports_point_left():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in PACKAGE.rglob("*.py")
        for name in imports(path)
        if name.startswith("sessionbrowse.") and name.split(".")[1] in ROOM
        if ROOM[name.split(".")[1]] > ROOM[room_of(path)]
    ]
    assert wrong == []


def test_every_room_is_known():
    assert {room_of(path) for path in PACKAGE.rglob("*.py")} <= set(ROOM)


def test_only_the_interface_imports_textual_and_only_the_command_line_prints_with_rich():
    textual = {
        room_of(path) for path in PACKAGE.rglob("*.py") if any(n.split(".")[0] == "textual" for n in imports(path))
    }
    assert textual == {"tui"}
    rich = {
        f"{room_of(path)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] == "rich" and room_of(path) not in ("cli", "tui")
    }
    # Widths of characters are its table, and nothing else of it.
    assert rich <= {"text: rich.cells", "text: rich.cells.cell_len", "text: rich.cells.get_character_cell_size"}


def test_the_format_knows_no_disk_and_no_clock():
    known = {name.split(".")[0] for path in (PACKAGE / "format").rglob("*.py") for name in imports(path)}
    assert not known & {"os", "pathlib", "io", "time", "datetime", "subprocess", "shutil"}
