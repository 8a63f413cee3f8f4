"""Conflict copies told by their names, of each program for synchronising; names of agents and users are none."""

from __future__ import annotations

import pytest

from sessionbrowse.model.listing.families import families, folded
from sessionbrowse.model.listing.summary import Summary, original_name

ID = "019beea5-6fa7-777a-9146-dd0ff97d3f39"
NAME = f"2026-08-13T08-00-00-000Z_{ID}"
ROLLOUT = f"rollout-2026-08-13T08-00-00-{ID}"

COPIES = {
    "Syncthing": "{}.sync-conflict-20261126-230000-ABC2DEF",
    "Syncthing's versions": "{}~20261126-230000",
    "Dropbox": "{} (Ada's conflicted copy 2026-11-26)",
    "Dropbox, a second time": "{} (Ada's conflicted copy 2026-11-26 1)",
    "Dropbox, by case": "{} (Case Conflict)",
    "Nextcloud": "{} (conflicted copy 2026-11-26 230000)",
    "ownCloud": "{}_conflict-20261126-230000",
    "Seafile": "{} (SFConflict ada@example.org 2026-11-26-23-00-00)",
}
WITH_ID = {
    "iCloud": "{} 2",
    "Google Drive": "{} (1)",
    "Google Drive, copied": "Copy of {}",
    "OneDrive": "{}-LAPTOP",
    "OneDrive, asked": "{}-conflict",
    "Resilio Sync": "{}.Conflict",
    "Synology Drive": "{}_NAS_Nov-26-230000-2026_Conflict",
    "rclone": "{}.conflict1",
    "Unison": "{} (copy: conflict #1 on 2026-11-26)",
    "Finder": "{} copy",
}


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson"])
@pytest.mark.parametrize("pattern", [*COPIES.values(), *WITH_ID.values()], ids=[*COPIES, *WITH_ID])
@pytest.mark.parametrize("name", [NAME, ROLLOUT], ids=["pi", "Codex"])
def test_a_copy_of_an_agents_file_is_told_by_its_id_and_name(name: str, pattern: str, suffix: str) -> None:
    assert original_name(pattern.format(name) + suffix, ID) == name + suffix


@pytest.mark.parametrize("pattern", COPIES.values(), ids=COPIES)
def test_names_that_no_user_chooses_are_told_without_the_id(pattern: str) -> None:
    for session_id in (None, ID):
        assert original_name(pattern.format("webshop") + ".jsonl", session_id) == "webshop.jsonl"
        assert original_name(pattern.format(f"{NAME[:-3]}fff") + ".jsonl", session_id) == f"{NAME[:-3]}fff.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        f"{NAME}.jsonl",
        f"{ID}.jsonl",
        "webshop 2.jsonl",
        "merge-conflict.jsonl",
        "webshop (1).jsonl",
        f"{NAME}x.jsonl",
        f"{ROLLOUT}.jsonl",
        f"{ROLLOUT}.jsonl.zst",
        f"{ROLLOUT}_2.jsonl",
        f"{ROLLOUT}_{ID}.jsonl",
        f"{NAME}.html",
        f"{NAME} 2.txt",
        ".jsonl",
        "",
    ],
)
def test_other_names_are_no_copies(name: str) -> None:
    assert original_name(name, ID) is None
    assert original_name(name, None) is None


def test_a_family_is_shown_by_the_file_that_the_agent_named() -> None:
    own = Summary(agent="pi", path=f"/p/{NAME}.jsonl", id=ID, created=1.0, message_count=5)
    copy = Summary(agent="pi", path=f"/p/{NAME} 2.jsonl", id=ID, created=1.0, message_count=7)
    assert folded([copy, own], families([copy, own])) == [(own, [copy])]
    assert (own.copy_of, copy.copy_of) == (None, f"{NAME}.jsonl")
