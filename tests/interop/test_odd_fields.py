"""The living programs do with odd fields what the table says, and draw each repaired file (`make interop`)."""

from __future__ import annotations

import pytest

from tests.interop import real
from tests.interop.odd_fields import asked_about, differences, programs, read_repaired, read_table, repaired_and_drawn
from tests.interop.shapes import shapes

pytestmark = pytest.mark.interop

PER_SHAPES = 10
"""Each run asks one of so many shapes; `python -m tests.interop.odd_fields --compare` asks all, in half an hour."""


@pytest.mark.parametrize("name", programs(), ids=" ".join)
def test_the_table_says_what_the_programs_do_and_they_draw_repaired_files(name: tuple[str, str]):
    some = [
        shape for number, shape in enumerate(shapes(name[0])) if shape.name.endswith(":") or not number % PER_SHAPES
    ]
    try:
        asked = asked_about(*name, some)
        drawn = repaired_and_drawn(*name, asked)
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    assert differences({name: asked}, read_table()) == []
    assert differences({name: drawn}, read_repaired()) == []
    assert len(asked) > 100
    assert len(drawn) > 10
