"""`python -m tests.interop.odd_fields`: ask the real programs about every odd field, and keep the verdicts in a table.

The table is `tests/golden/odd_fields.tsv`: for each program and field the odd values by verdict. The verdicts:

- `stops`: the program ends with an error, or hangs, when it draws the session or its tree;
- `refuses`: it does not open the session, or leaves it out of its list;
- `otherwise`: it drops the entry, or takes the odd field for a missing one;
- `reads`: everything else.

Where a verdict is `stops` or `refuses`, the line ends with a digest of the repaired files, once the program has drawn
them all.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sessionbrowse.agents.base import Surroundings
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.write_checks import Target

from . import real
from .drawing import Drawn, draw, program
from .shapes import Shape, shapes

TABLE = Path(__file__).resolve().parent.parent / "golden" / "odd_fields.tsv"
VERDICTS = ("stops", "refuses", "otherwise", "reads")
Verdicts = dict[str, str]
"""Verdicts by the name of a shape."""
_WORKERS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask the tested programs and write the table, or with `--compare` print what it says otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.odd_fields", description=__doc__)
    parser.add_argument("--compare", action="store_true", help="compare with the table instead of writing it")
    chosen = parser.parse_args(arguments)
    asked = {name: ask(*name) for name in programs()}
    drawn = {name: repaired_and_drawn(*name, verdicts) for name, verdicts in asked.items()}
    if not chosen.compare:
        write_table(asked, drawn)
        return 0
    unlike = [*differences(asked, read_table()), *differences(drawn, read_repaired())]
    print("\n".join(unlike))
    return 1 if unlike else 0


def differences(new: Mapping[tuple[str, str], Verdicts], kept: Mapping[tuple[str, str], Verdicts]) -> list[str]:
    """Return a sentence for each shape that a program now answers differently."""
    return [
        f"{agent} {version} {shape}: {verdict}, in the table {kept[agent, version].get(shape)}"
        for (agent, version), verdicts in new.items()
        for shape, verdict in verdicts.items()
        if kept[agent, version].get(shape) != verdict
    ]


def programs() -> list[tuple[str, str]]:
    """Return the programs that can draw sessions here: name and version."""
    return real.PROGRAMS


# ---- asking --------------------------------------------------------------------------------------------------


def ask(agent: str, version: str) -> Verdicts:
    """Return a program's verdicts about all shapes."""
    return asked_about(agent, version, list(shapes(agent)))


def asked_about(agent: str, version: str, some: Sequence[Shape]) -> Verdicts:
    """Return a program's verdicts about some shapes."""
    answers = _answers(agent, version, some)
    opened = [shape for shape in some if _opens(answers[shape.name])]
    drawn = dict(zip((shape.name for shape in opened), draw_all(agent, version, opened), strict=True))
    return {
        shape.name: verdict(shape.name, answers[shape.name], _sound(answers, shape.name), drawn.get(shape.name))
        for shape in some
    }


def draw_all(agent: str, version: str, some: Sequence[Shape]) -> list[Drawn]:
    """Return how a program draws each shape, in several terminals at once."""
    which = program(agent, version)
    step = max(1, -(-len(some) // _WORKERS))
    parts = [some[at : at + step] for at in range(0, len(some), step)]
    with ThreadPoolExecutor(_WORKERS) as pool:
        return [each for part in pool.map(lambda part: list(draw(which, part)), parts) for each in part]


def verdict(name: str, answer: Any, sound: Any, drawn: Drawn | None) -> str:
    """Return the verdict about a shape, from the program's answers about it and its sample, and from its drawing."""
    if answer.get("hangs"):
        return "stops"
    oracle = answer["oracle"]
    fails = not _opens(answer) and "TypeError" in str(oracle.get("error"))
    if fails or (drawn is not None and drawn.stage is not None):
        return "stops"
    if drawn is None or oracle["list"] is None:
        return "refuses"
    return "reads" if _aspects(answer) == _aspects(sound) or _is_meant(name) else "otherwise"


def _answers(agent: str, version: str, some: Sequence[Shape]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        files = [root / f"{number:05}.jsonl" for number in range(len(some))]
        for file, shape in zip(files, some, strict=True):
            file.write_bytes(shape.content)
        asked = (
            real.ask_pi(version, root, files, trees=False)
            if agent == "pi"
            else real.ask_omp(root, files, version, trees=False)
        )
        return dict(zip((shape.name for shape in some), asked, strict=True))


def _opens(answer: Any) -> bool:
    oracle = answer.get("oracle") or {"ok": False}  # none where the program hangs
    return bool(oracle["open"]["ok"] if "open" in oracle else oracle["ok"])


def _sound(answers: Mapping[str, Any], name: str) -> Any:
    return answers[f"{name.partition(':')[0]}:"]


def _aspects(answer: Any) -> list[Any]:
    """Return the parts of a program's answer that tell if all entries have their place and meaning."""
    oracle = answer["oracle"]
    context = oracle["context"] if isinstance(oracle.get("context"), dict) else {}
    names = ("entryIds", "entryTypes", "branch", "contextEntryIds", "projection", "labels", "name")
    roles = [message.get("role") for message in context.get("messages", ())]
    return [*map(oracle.get, names), roles, *map(context.get, ("thinkingLevel", "model", "models", "mode"))]


def _is_meant(name: str) -> bool:
    """Return True for a value that the format itself gives a meaning, such as the `parentId` null of a root."""
    field, _, value = name.partition(":")[2].partition("=")
    return value in _MEANT.get(field, ())


_MEANT: dict[str, tuple[str, ...]] = {
    "version": ("absent", "null"),  # version 1
    "parentId": ("null",),  # a root
    "label": ("absent", "null", "7", "{}", '""'),  # a cleared label, or one that is shown as a text
    "name": ("absent", "null", '""'),  # a cleared name
    "replacement": ("null",),  # an entry that the model does not receive
    "summary": ('""',),
    "firstKeptEntryId": ('""',),  # nothing is kept
    "thinkingLevel": ('""', "null"),  # a level of no name; omp writes null
    "title": ('""',),
    "message.stopReason": ("absent", "null", "7", "{}", '""'),  # an error that is none is sent to the model
    "systemMessage": ("absent", "null", "[]", "{}"),
}


# ---- repaired files ------------------------------------------------------------------------------------------


def repaired(agent: str, shape: Shape, folder: Path) -> bytes:
    """Return the content of a shape's repaired file; equal for each call."""
    path, made = folder / "session.jsonl", folder / "made" / "session.jsonl"
    made.parent.mkdir(exist_ok=True)
    made.unlink(missing_ok=True)
    path.write_bytes(shape.content)
    around = Surroundings(home=str(folder), environ={}, cwd=str(folder))
    context = ChangeContext.at(around, str(folder / "state"), lambda: 1_900_000_000_000.0)
    repair(
        Target(str(path), agent), Where(to=str(made)), context=context, random_bytes=lambda count: bytes(range(count))
    )
    return made.read_bytes()


def repaired_and_drawn(agent: str, version: str, verdicts: Verdicts) -> Verdicts:
    """Return the digest of the repaired file of each shape on which the program stops or which it refuses.

    "not drawn" stands for a repaired file that the program does not open, list and draw.
    """
    with tempfile.TemporaryDirectory() as name:
        bad = [shape for shape in shapes(agent) if verdicts.get(shape.name) in ("stops", "refuses")]
        made = [Shape(shape.name, repaired(agent, shape, Path(name))) for shape in bad]
    answers = _answers(agent, version, made)
    drawn = draw_all(agent, version, made)
    return {
        shape.name: digest(shape.content)
        if _opens(answers[shape.name]) and answers[shape.name]["oracle"]["list"] is not None and each.stage is None
        else "not drawn"
        for shape, each in zip(made, drawn, strict=True)
    }


def digest(content: bytes) -> str:
    """Return the digest of a file as the table keeps it."""
    return hashlib.sha256(content).hexdigest()[:8]


# ---- the table -----------------------------------------------------------------------------------------------


def write_table(asked: Mapping[tuple[str, str], Verdicts], drawn: Mapping[tuple[str, str], Verdicts]) -> None:
    """Write the table: a line for each program and field, with the odd values by verdict and the digests."""
    lines = []
    for (agent, version), verdicts in asked.items():
        by_field: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for shape, found in verdicts.items():
            field, _, value = shape.partition("=")
            by_field[field][found].append(value)
            if shape in drawn[agent, version]:
                by_field[field][_REPAIRED].append(f"{value}={drawn[agent, version][shape]}")
        for field, values in by_field.items():
            groups = [f"{one} {' '.join(values[one])}" for one in (*VERDICTS, _REPAIRED) if one in values]
            lines.append("\t".join((f"{agent} {version}", field, *groups)))
    TABLE.write_text("\n".join(lines) + "\n")


_REPAIRED = "repaired"


def read_table() -> dict[tuple[str, str], Verdicts]:
    """Return the kept verdicts by program and version."""
    kept: dict[tuple[str, str], Verdicts] = {}
    for program_, field, found, value in _cells():
        if found != _REPAIRED:
            kept.setdefault(program_, {})[f"{field}={value}" if value else field] = found
    return kept


def read_repaired() -> dict[tuple[str, str], Verdicts]:
    """Return the digests of repaired files that the programs have drawn, by program and version."""
    kept: dict[tuple[str, str], Verdicts] = {}
    for program_, field, found, value in _cells():
        if found == _REPAIRED:
            odd, _, made = value.rpartition("=")
            kept.setdefault(program_, {})[f"{field}={odd}"] = made
    return kept


def _cells() -> Iterator[tuple[tuple[str, str], str, str, str]]:
    """Yield each value of the table: program with version, field, verdict, and the odd value or the digest."""
    for line in TABLE.read_text().splitlines():
        name, field, *groups = line.split("\t")
        agent, _, version = name.partition(" ")
        for group in groups:
            found, *values = group.split(" ")
            for value in values:
                yield (agent, version), field, found, value


if __name__ == "__main__":
    sys.exit(main())
