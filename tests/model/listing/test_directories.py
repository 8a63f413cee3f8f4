"""Directories compared as stored, in normal form and without links, on Linux, macOS and Windows."""

from __future__ import annotations

import pytest

from sessionbrowse.model.listing.directories import (
    is_absolute,
    joined,
    listed,
    machine_in,
    normal_form,
    one_spelling,
    other_system,
    part_below,
    stored,
    why_not_here,
)

WINDOWS_PATHS = ["C:\\Users\\u\\ELM", "c:/Users/u", "D:", "D:\\", "\\\\server\\share", "\\\\wsl$\\Ubuntu\\home"]
POSIX_PATHS = ["/", "/w/p", "/C:/Users/u", "/c/Users/u", "/w/a\\b"]
RELATIVE = ["", ".", "..", "proj", "./proj", "~", "~/proj", "C", "C:proj", "a:b", "\\proj", "1:\\x"]


@pytest.mark.parametrize("windows", [False, True])
def test_an_absolute_path_belongs_to_one_system(windows: bool) -> None:
    for path in WINDOWS_PATHS:
        assert is_absolute(path, windows) is windows, path
        assert other_system(path, windows) == (None if windows else "Windows"), path
    for path in POSIX_PATHS:
        assert is_absolute(path, windows) is not windows, path
        assert other_system(path, windows) == ("Linux or macOS" if windows else None), path
    for path in RELATIVE:
        assert not is_absolute(path, windows), path
        assert other_system(path, windows) is None, path
        assert why_not_here(path, windows) == "is not an absolute path", path
    assert other_system("//server/share", windows=False) is None, "POSIX allows two slashes"
    assert is_absolute("//server/share", windows=True)


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        ("/w/p/", "/w/p"),
        ("/w//p", "/w/p"),
        ("//w/p", "/w/p"),
        ("/w/./p/.", "/w/p"),
        ("/w/x/../p", "/w/p"),
        ("/..", "/"),
        ("/w/P", "/w/P"),
        ("", ""),
        ("proj/", "proj"),
        ("~/x//y", "~/x/y"),
        ("C:/Users/u/", "C:\\Users\\u"),
        ("C:\\Users\\.\\u\\..\\v", "C:\\Users\\v"),
        ("\\\\server\\share\\", "\\\\server\\share\\"),
        ("/w/a\\b", "/w/a\\b"),
    ],
)
def test_the_normal_form_is_one_for_all_spellings(spelling: str, normal: str) -> None:
    assert normal_form(spelling, windows=False) == normal
    assert normal_form(normal, windows=False) == normal


@pytest.mark.parametrize(
    ("directory", "top", "names"),
    [
        ("/w/p", "/w/p/", ()),
        ("/w//p/a/b", "/w/./p", ("a", "b")),
        ("/w/project", "/w/p", None),
        ("/w", "/w/p", None),
        ("/w/p", "/", ("w", "p")),
        ("w/p", "/w", None),
        ("w/p", "w", ("p",)),
        ("C:\\Users\\u\\ELM\\a", "C:/Users/u", ("ELM", "a")),
        ("C:\\Users", "D:\\", None),
        ("C:\\Users", "C:\\", ("Users",)),
        ("C:\\Users\\u", "/Users", None),
        ("\\\\server\\share\\p", "\\\\server\\share", ("p",)),
        ("", "", None),
        ("", "/", None),
        ("/w/P", "/w/p", None),
    ],
)
def test_a_directory_is_below_another_by_whole_names(directory: str, top: str, names: tuple[str, ...] | None) -> None:
    assert part_below([directory], [top], windows=False) == names


def test_any_spelling_may_agree_and_names_join_by_the_new_systems_slash() -> None:
    assert part_below(["/link/p", "/real/p"], ["/other", "/real"]) == ("p",)
    assert joined("/new", ("a", "b"), windows=False) == "/new/a/b"
    assert joined("D:\\new", ("a", "b"), windows=True) == "D:\\new\\a\\b"
    assert joined("/new", (), windows=False) == "/new"


def test_the_path_without_links_stands_for_all_spellings_else_the_shortest() -> None:
    real = {"/w/agents/p": "/w/repos/p", "/w/repos/p": "/w/repos/p", "/tmp/q": "/private/tmp/q"}
    stored = ["/w/agents/p", "/w/repos/p/", "/w/repos/p", "/tmp/q", "/tmp/q/", "", "/gone/"]
    known = real | {"/tmp/q/": "/private/tmp/q"}
    spelled = one_spelling(stored, known)
    assert {spelled[each] for each in stored[:3]} == {"/w/repos/p"}
    assert spelled["/tmp/q"] == spelled["/tmp/q/"] == "/tmp/q"
    assert (spelled[""], spelled["/gone/"]) == ("", "/gone/")
    assert one_spelling(reversed(stored), known) == spelled


FORGED = [
    "mini:/tmp",
    "./mini:/tmp",
    "././mini:/tmp",
    "mini:",
    "mini:tmp",
    "mini:C:\\x",
    "../mini:/tmp",
    "x/../mini:/tmp",
]


@pytest.mark.parametrize("text", [*FORGED, *WINDOWS_PATHS, *POSIX_PATHS, *RELATIVE, "file:///home/u", "//mini/tmp"])
def test_no_directory_of_this_machine_reads_like_one_of_another(text: str) -> None:
    here, there = listed(text, None), listed(text, "mini")
    assert machine_in(here) is None
    assert machine_in(normal_form(here, windows=False)) is None
    assert stored(here, None) == text
    assert machine_in(there) is not None
    assert stored(there, "mini") == text or text.startswith("//")
    assert part_below([here], [there], windows=False) is None
    assert one_spelling([here, there], {})[here] == here


def test_steps_upwards_lead_to_no_other_machine() -> None:
    for text in ("/a/../../work:/tmp", "../work:/tmp", "..", "/"):
        there = machine_in(normal_form(listed(text, "mini"), windows=False))
        assert there is not None
        assert there[0] == "mini", text
    assert part_below(["mini:/../tmp/a"], ["mini:/tmp"], windows=False) == ("a",)
    assert part_below(["mini:/tmp"], ["work:/tmp"], windows=False) is None
