"""The header by which a program takes a file for a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import BadLine
from sessionbrowse.manager import session_lists
from tests.support.session_files import header


class TornLine(BadLine, frozen=True):
    """A bad line of another kind."""


def test_bad_lines_before_the_header_are_skipped_whatever_kind_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{torn\n" + header(id="found"))

    def decode(line: bytes) -> object:
        value = decode_line(line)
        return TornLine(value.reason) if isinstance(value, BadLine) else value

    for decoder in (decode_line, decode):
        monkeypatch.setattr(session_lists, "decode_line", decoder)
        found = session_lists.header_of(str(path))
        assert found is not None
        assert found.id == "found"
