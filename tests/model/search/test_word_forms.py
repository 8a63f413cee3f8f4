"""Words of texts fit words of queries by stem, beginning and part; misspelt ones differ by one letter."""

from __future__ import annotations

import random

import pytest

from sessionbrowse.model.search.words import (
    BEGINNING,
    EXACT,
    INSIDE,
    RELATED,
    STEM,
    fit,
    is_misspelt,
    key_of,
)


@pytest.mark.parametrize(
    ("wanted", "word", "weight"),
    [
        ("theme", "theme", EXACT),
        ("themes", "theme", STEM),
        ("theme", "themes", STEM),
        ("crashed", "crash", STEM),
        ("renaming", "rename", STEM),
        ("running", "run", STEM),
        ("entries", "entry", STEM),
        ("auth", "authentication", BEGINNING),
        ("configure", "configuration", STEM),
        ("footers", "footnote", 0.0),
        ("darcual", "darcula", RELATED),
        ("weight_update", "start_weight_update", INSIDE),
        ("token", "usermessagetoken", INSIDE),
        ("id", "session_id", INSIDE),
        ("id", "video", 0.0),
        ("art", "start", 0.0),
        ("b", "bus", 0.0),
        ("übersicht", "übersichten", BEGINNING),
    ],
)
def test_a_word_fits_its_forms(wanted, word, weight):
    assert fit(wanted, word) == weight


def test_a_word_that_fits_always_has_the_key():
    dice = random.Random(3)
    words = [
        "".join(dice.choices("aeist", k=dice.randint(1, 4))) + dice.choice(["", "s", "ing", "ies", "ed", "_x"])
        for _ in range(400)
    ]
    pairs = [(one, two) for one in words for two in words if fit(one, two)]
    assert len(pairs) > 400
    assert [(one, two) for one, two in pairs if key_of(one) not in two] == []


@pytest.mark.parametrize(
    ("wanted", "word", "near"),
    [
        ("ghostty", "gohstty", True),
        ("ghostty", "ghosty", True),
        ("ghostty", "ghosttyy", True),
        ("ghostty", "ghostly", True),
        ("ghostty", "ghostty", False),
        ("ghostty", "hgosttyy", False),
        ("abcd", "bacd", True),
        ("abcd", "badc", False),
    ],
)
def test_a_misspelt_word_differs_by_one_letter(wanted, word, near):
    assert is_misspelt(wanted, word) is near
    assert is_misspelt(word, wanted) is near
