"""Every screen and dialog looks as it was last looked at; `make screenshots` takes the pictures anew."""

from __future__ import annotations

import difflib
import re

import pytest

from tests.pictures.pictures import LOOKS, README_PICTURES, album
from tests.pictures.screenshots import DRAWINGS, ROOT, TEXTS, files_of


@pytest.mark.parametrize("size", LOOKS)
async def test_every_screen_and_dialog_looks_as_in_its_picture(size: str) -> None:
    pictures = await album(size)
    taken = files_of(pictures)
    changed = [path for path, text in taken.items() if not path.is_file() or path.read_text() != text]
    differences = list(pictures.broken)
    for path in changed:
        before = path.read_text().splitlines() if path.is_file() else []
        name = str(path.relative_to(ROOT))
        after = taken[path].splitlines()
        # Of a drawing it is enough to know that it differs: its text tells how.
        shown = [] if path.suffix == ".svg" else difflib.unified_diff(before, after, lineterm="", n=1)
        differences.append("\n".join([f"{name} differs", *shown]))
    assert not differences, "\n".join([*differences, "If that is meant, look at it and run `make screenshots`."])
    assert sorted(path.name for path in (TEXTS / size).iterdir()) == sorted(
        path.name for path in taken if path.parent == TEXTS / size
    )


def test_the_pictures_of_the_readme_are_those_that_are_compared() -> None:
    shown = re.findall(r"!\[[^]]+\]\(screenshots/([^)]+)\.svg\)", (ROOT / "README.md").read_text())
    assert sorted(shown) == sorted(README_PICTURES)
    assert sorted(path.name for path in DRAWINGS.iterdir()) == sorted(f"{name}.svg" for name in README_PICTURES)
