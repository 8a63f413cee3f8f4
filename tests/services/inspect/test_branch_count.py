"""The number of branches: one definition for lists, the browser and `show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.model.session.parents import count_branches
from tests.support.index_support import answer, entry, folder, header, user, write


def test_labels_and_moves_of_the_leaf_are_no_branches(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(
        folder(tmp_path) / "a.jsonl",
        header(),
        user("1", None, "one"),
        answer("2", "1", "two"),
        user("3", "1", "another"),
        # A check out to 1, and its undo back to 3: entries without children that nobody would call a branch.
        entry("custom", "4", "1", customType="checkout"),
        entry("custom", "5", "3", customType="checkout"),
        entry("label", "6", "2", targetId="2", label="here"),
    )
    assert main(["show", str(path), "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["branches"], len(document["leaf_ids"])) == (2, 3)
    assert main(["show", str(path)]) == 0
    assert "2; entries on active branch" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("parents", "messages", "expected"),
    [([], [], 1), ([-1, 0, 0], [1, 1, 1], 2), ([-1, 0, 1], [1, 1, 1], 1), ([-1, 0, 0, 0], [1, 1, 0, 0], 1)],
)
def test_a_branch_ends_at_a_message_without_another_below(
    parents: list[int], messages: list[int], expected: int
) -> None:
    assert count_branches(messages, parents.__getitem__) == expected
