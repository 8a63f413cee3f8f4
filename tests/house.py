"""The rules of the house, read from the code: `broken_rules()` returns every rule with the places that break it.

`python -m tests.house` prints them. `tests/test_house.py` asks for none.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "sessionbrowse"

FLOORS = (
    ("version", "errors", "text", "config"),
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
"""From left to right, in the order in which data travels. Names of one group may import each other."""

MOST_FILES_IN_A_ROOM = 15
MOST_LINES_IN_A_MODULE = 600
MOST_METHODS_IN_A_CLASS = 40
MOST_LINES = 42_800
MOST_LINES_OF_ROOMS: Mapping[str, int] = {
    ".": 871,
    "agents": 787,
    "cli": 882,
    "cli/commands": 2_098,
    "demo": 67,
    "format": 1_411,
    "manager": 1_330,
    "model": 183,
    "model/clean": 1_672,
    "model/context": 1_300,
    "model/convert": 579,
    "model/foreign": 1_278,
    "model/listing": 1_006,
    "model/search": 918,
    "model/session": 781,
    "model/tree": 865,
    "model/usage": 725,
    "services": 361,
    "services/background": 1_138,
    "services/change": 1_170,
    "services/clean": 783,
    "services/convert": 217,
    "services/export": 491,
    "services/inspect": 364,
    "services/list": 586,
    "services/machines": 805,
    "services/resume": 562,
    "services/search": 1_230,
    "services/transaction": 672,
    "services/usage": 436,
    "store": 96,
    "store/find": 931,
    "store/index": 1_408,
    "store/own": 268,
    "store/read": 723,
    "store/system": 151,
    "store/write": 1_973,
    "tui": 373,
    "tui/changes": 955,
    "tui/clean": 655,
    "tui/commands": 546,
    "tui/data": 700,
    "tui/dialogs": 555,
    "tui/layout": 828,
    "tui/lists": 1_161,
    "tui/outside": 198,
    "tui/paint": 976,
    "tui/reading": 1_052,
    "tui/resume": 322,
    "tui/search": 451,
    "tui/session": 1_045,
    "tui/shell": 780,
    "tui/stats": 376,
    "tui/widgets": 709,
}
"""The lines of code that the package and each room may have. They only fall, but for a commit that says what for."""
_SPARE_LINES = 30

LONG_FOR_A_REASON: Mapping[str, str] = {
    "tui/commands/table.py": "one table of rows, the single source of footer, palette, help and README",
}
"""Modules that may be longer, each with the reason."""

DISK_AND_CLOCK = {"os", "pathlib", "io", "time", "datetime", "subprocess", "shutil"}


# ---- reading the code --------------------------------------------------------------------------------------


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the package by dotted name; a package is named without `__init__`."""
    return {_dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def syntax(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module's syntax tree."""
    return tuple(ast.walk(syntax(path)))


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """Return the dotted names that a module imports anywhere, also in functions and under TYPE_CHECKING."""
    return tuple(_imported_names(path))


@cache
def import_graph() -> dict[str, set[str]]:
    """Return for each module of the package the modules of the package that it imports."""
    return {name: {found for found in map(_module_of, imported_names(path)) if found} for name, path in _items()}


def floor_of(module: str) -> str:
    """Return the first part of a module's name below the package."""
    return module.split(".")[1] if "." in module else "__init__"


def room_of(module: str) -> str:
    """Return the folder of a module, as `tui/lists`; a file that lies directly on a floor is a room of its own."""
    path = modules()[module].relative_to(PACKAGE)
    return str(path.parent if len(path.parts) > 2 else path.with_suffix(""))


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of names that reach each other (Tarjan's strongly connected components of two or more)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5 * len(graph) + 1000))
    for name in graph:
        if name not in numbers:
            visit(name)
    return found


# ---- the rules ---------------------------------------------------------------------------------------------


def imports_to_the_right() -> list[str]:
    """Imports point left in the order of the floors."""
    place = {name: number for number, group in enumerate(FLOORS) for name in group}
    unknown = [f"no floor is named {floor}" for floor in {floor_of(name) for name in modules()} - set(place)]
    return unknown + [
        f"{name} imports {other}"
        for name, others in import_graph().items()
        for other in sorted(others)
        if place.get(floor_of(other), 0) > place.get(floor_of(name), 0)
    ]


def circles_of_modules() -> list[str]:
    """No modules import each other in a circle, function-level and type-checking imports included."""
    return [_shown(group, import_graph()) for group in circles(import_graph())]


def circles_of_rooms() -> list[str]:
    """No rooms of one floor import each other in a circle."""
    graph: dict[str, set[str]] = {}
    for name, others in import_graph().items():
        rooms = {room_of(other) for other in others if floor_of(other) == floor_of(name)}
        graph.setdefault(room_of(name), set()).update(rooms - {room_of(name)})
    return [_shown(group, graph) for group in circles(graph)]


def textual_outside_tui() -> list[str]:
    """Only `tui` imports textual."""
    return _importing("textual", but=("tui",))


def rich_outside_cli_and_tui() -> list[str]:
    """Only `cli` and `tui` import rich; its table of cell widths is data, which `text` shares with what draws."""
    return [found for found in _importing("rich", but=("tui", "cli")) if "imports rich.cells." not in found]


def disk_or_clock_in_format() -> list[str]:
    """`format` turns bytes into values: it knows no disk and no clock."""
    return [
        f"{name} imports {other}"
        for name, path in _items()
        if floor_of(name) == "format"
        for other in imported_names(path)
        if other.split(".")[0] in DISK_AND_CLOCK
    ]


def crowded_rooms() -> list[str]:
    """A room holds at most 15 modules beside `__init__.py`."""
    count = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    return [
        f"{room.relative_to(PACKAGE)}: {files} files" for room, files in count.items() if files > MOST_FILES_IN_A_ROOM
    ]


def long_modules() -> list[str]:
    """A module has at most 600 lines."""
    lines = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in modules().values()}
    missing = [f"{name}: a reason to be long, but no such module" for name in LONG_FOR_A_REASON if name not in lines]
    return missing + [
        f"{name}: {count} lines"
        for name, count in lines.items()
        if count > MOST_LINES_IN_A_MODULE and name not in LONG_FOR_A_REASON
    ]


def large_classes() -> list[str]:
    """A class has at most 40 methods of its own."""
    return [
        f"{path.relative_to(PACKAGE)}: {node.name} has {methods} methods"
        for path in modules().values()
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        for methods in [sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)]
        if methods > MOST_METHODS_IN_A_CLASS
    ]


def names_that_stand_for_two_classes() -> list[str]:
    """The name of a public class stands for one thing in the whole program."""
    places: dict[str, list[str]] = {}
    for path in modules().values():
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


def lines_of_code() -> list[str]:
    """The package and each room have at most the lines of code of these tables, and not many fewer."""
    from tests.count_lines import lines_of_rooms

    lines = lines_of_rooms()
    limits = {**MOST_LINES_OF_ROOMS, "in all": MOST_LINES}
    counts = {**lines, "in all": sum(lines.values())}
    return [
        f"{room}: {counts.get(room, 0):,} lines of code, and the number of this table is {limits.get(room, 0):,}"
        for room in sorted({*counts, *limits})
        if not 0 <= limits.get(room, 0) - counts.get(room, 0) <= _SPARE_LINES
    ]


def endless_waits() -> list[str]:
    """Every wait of a test has a limit."""
    # Parsing every test takes seconds; a file without such a call in its text has none.
    return [
        f"{path.relative_to(TESTS)}:{node.lineno}: {ast.unparse(node.func)}"
        for path in sorted(TESTS.rglob("*.py"))
        if _MAY_WAIT.search(path.read_text())
        for node in nodes(path)
        if isinstance(node, ast.Call) and _waits_for_ever(node)
    ]


RULES: tuple[Callable[[], list[str]], ...] = (
    imports_to_the_right,
    circles_of_modules,
    circles_of_rooms,
    textual_outside_tui,
    rich_outside_cli_and_tui,
    disk_or_clock_in_format,
    crowded_rooms,
    long_modules,
    large_classes,
    names_that_stand_for_two_classes,
    lines_of_code,
    endless_waits,
)


# ---- private -----------------------------------------------------------------------------------------------


def _items() -> Iterable[tuple[str, Path]]:
    return modules().items()


def _dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module_of(name: str) -> str | None:
    """Return the module of the package that an imported name is, or lies in."""
    known = modules()
    return name if name in known else above if (above := name.rpartition(".")[0]) in known else None


def _imported_names(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _importing(library: str, *, but: tuple[str, ...]) -> list[str]:
    return [
        f"{name} imports {other}"
        for name, path in _items()
        if floor_of(name) not in but
        for other in imported_names(path)
        if other.split(".")[0] == library
    ]


_MAY_WAIT = re.compile(r"\.(wait|join|communicate|acquire|get|wait_closed)\(\s*(\)|\w+\s*=)|\bsubprocess\.")


def _waits_for_ever(call: ast.Call) -> bool:
    """Return whether a call is one of those that wait, and is given no time."""
    if not isinstance(call.func, ast.Attribute) or any(keyword.arg in ("timeout", None) for keyword in call.keywords):
        return False
    name = call.func.attr
    if name in ("run", "call", "check_call", "check_output"):
        return isinstance(call.func.value, ast.Name) and call.func.value.id == "subprocess"
    return not call.args and name in ("wait", "join", "communicate", "acquire", "get", "wait_closed")


def _shown(group: list[str], graph: Mapping[str, Iterable[str]]) -> str:
    lines = [f"a circle of {len(group)}:"]
    for name in group:
        others = sorted({other.removeprefix("sessionbrowse.") for other in graph[name] if other in group})
        lines.append(f"    {name.removeprefix('sessionbrowse.')} -> {' '.join(others)}")
    return "\n".join(lines)


def main() -> int:
    """Print each rule, and what breaks it; exit status 1 if anything does."""
    broken = 0
    for rule in RULES:
        places = rule()
        broken += bool(places)
        print(f"{'BROKEN' if places else 'met   '}  {(rule.__doc__ or '').strip()}")
        for place in places:
            print(f"        {place}".replace("\n", "\n        "))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
