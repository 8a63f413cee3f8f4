"""Every screen and dialog looks as it was last looked at; `make screenshots` takes the pictures anew."""

from __future__ import annotations

import difflib
import re

import pytest

from tests.pictures.pictures import LOOKS, README_PICTURES, album
from tests.pictures.screenshots import DRAWINGS, ROOT, TEXTS, files_of


# A test for each part, so that workers share them.
@pytest.mark.parametrize(("size", "part"), [(size, part) for size, look in LOOKS.items() for part in look.scenes])
async def test_every_screen_and_dialog_looks_as_in_its_picture(size: str, part: str) -> None:
    pictures = await album(size, part)
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
    assert list(pictures.texts) == LOOKS[size].scenes[part]


@pytest.mark.parametrize("size", LOOKS)
def test_each_picture_is_that_of_one_scene(size: str) -> None:
    scenes = [scene for names in LOOKS[size].scenes.values() for scene in names]
    assert sorted(path.name for path in (TEXTS / size).iterdir()) == sorted(
        f"{name}.txt" for name in [*scenes, "colours"]
    )


def test_the_pictures_of_the_readme_are_those_that_are_compared() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = [re.findall(r"!\[[^]]+\]\((?:\.\./)?screenshots/([^)]+)\.svg\)", page.read_text()) for page in pages]
    shown = {name for names in found for name in names}
    # The moving picture is a recording of a real terminal, with times of its own.
    pictures = ["tour", *README_PICTURES]
    assert sorted(shown) == sorted(pictures)
    assert sorted(path.name for path in DRAWINGS.iterdir()) == sorted(f"{name}.svg" for name in pictures)
