"""Parse the `.env` files that omp reads at its start, because they can change omp's session directories.

The grammar is that of Node's `util.parseEnv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# The patterns are strings, compiled at their first use, because few users have `.env` files for omp.
_LINE = r"""(?mx)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*
        (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | `(?P<tick>[^`]*)` | (?P<bare>[^\r\n]*) )"""
_REFERENCE = r"(\\)?\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))"


def parse(content: bytes | None) -> dict[str, str]:
    """Return the variables of a `.env` file as omp reads it: `OMP_X` also sets `PI_X`, even if the file has `PI_X`.

    `content` None, for a missing file, gives no variables.
    """
    values: dict[str, str] = {}
    for line in re.finditer(_LINE, content.decode("utf-8", "replace")) if content else ():
        values[line[1]] = _value(line)
    mirrored = {"PI_" + name[4:]: value for name, value in values.items() if name.startswith("OMP_")}
    return {name: value for name, value in {**values, **mirrored}.items() if "\0" not in value}


def expand(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Replace `$NAME` and `${NAME}` in the values of a `.env` file, as omp does.

    The replacement is the variable's value in the environment, else in an earlier line of the file, else nothing.
    """
    expanded: dict[str, str] = {}

    def replace(reference: re.Match[str]) -> str:
        if reference[1]:
            return reference[0][1:]
        name = reference[2] or reference[3]
        return environ.get(name, expanded.get(name, ""))

    for name, value in values.items():
        expanded[name] = re.sub(_REFERENCE, replace, value)
    return expanded


def layered(environ: Mapping[str, str], layers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the environment with the variables of `.env` files added.

    `layers` has the variables of each `.env` file. If a variable has several non-empty values, the value in the
    environment is used; without such a value, the one in the first file.
    """
    merged = dict(environ)
    for layer in layers:
        for name, value in layer.items():
            if not merged.get(name):
                merged[name] = value
    return merged


def _value(line: re.Match[str]) -> str:
    if line["double"] is not None:
        return line["double"].replace("\\n", "\n")
    for quoted in ("single", "tick"):
        if line[quoted] is not None:
            return line[quoted]
    return line["bare"].split("#", 1)[0].strip()
