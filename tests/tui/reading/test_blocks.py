"""Blocks of an entry: code in colour, edits as differences, tool calls with results, images as one row, folds."""

from __future__ import annotations

import base64
import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format.entries import AssistantMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from sessionbrowse.format.entries import ToolResultMessage as Result
from sessionbrowse.model.edits import written_diff_counts
from sessionbrowse.store.read.content import read_blob
from sessionbrowse.text import clean_lines
from sessionbrowse.tui.layout.heights import DocumentLayout
from sessionbrowse.tui.layout.highlight import code_parts, lexer_for_path, lexer_named
from sessionbrowse.tui.layout.images import ImagePart, dimensions, image_line
from sessionbrowse.tui.layout.parts import SHOWN_FIRST, Fold, LazyPart, LinePart, Part, cut_at, text_parts, warm
from sessionbrowse.tui.outside.editor import TemporaryCopies
from sessionbrowse.tui.outside.viewer import NoViewer, show_image
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.messages import call_parts, edit_counts, edit_parts, message_parts, style_diff
from sessionbrowse.tui.reading.texts import Detail, output_parts


def texts(rows: list[Line]) -> list[str]:
    return ["".join([text for text, _ in row]).rstrip() for row in rows]


def shown(parts: list[Part], width: int = 70) -> list[str]:
    return [row for part in parts for row in texts(part.rows(width))]


# ---- code ------------------------------------------------------------------------------------------------------


def roles_of(parts: list[Part], piece: str) -> set[str]:
    return {roles for part in parts for row in part.rows(80) for text, roles in row if text == piece}


def test_code_gets_the_roles_of_its_tokens() -> None:
    parts = code_parts('def run(n):\n    # why\n    return "x" + 12', lexer_named("python"))
    assert roles_of(parts, "def") == {"keyword"}
    assert roles_of(parts, "run") == {"name"}
    assert roles_of(parts, "# why") == {"dim italic"}
    assert roles_of(parts, "12") == {"number"}


def test_a_file_is_known_by_its_name() -> None:
    assert lexer_for_path("src/app/main.ts") is not None
    assert lexer_for_path("notes.txt") is None
    assert lexer_for_path("") is None
    assert lexer_named("no such language") is None


@given(st.text(max_size=300), st.sampled_from(["python", "json", "html", "bash", "diff", "js", "rust"]))
def test_colours_change_no_character(source: str, language: str) -> None:
    parts = code_parts(source, lexer_named(language))
    assert "\n".join([part.plain() for part in parts]) == "\n".join(clean_lines(source))
    joined = "".join([text for part in parts for row in part.rows(500) for text, _ in row])
    assert joined == "".join(clean_lines(source))


def test_a_jump_to_the_end_of_long_code_lexes_only_what_is_there() -> None:
    source = "\n".join([f"value_{number} = {number}  # note" for number in range(5_000)])
    started = time.process_time()
    parts = code_parts(source, lexer_named("python"))
    rows = parts[-1].rows(80)
    assert time.process_time() - started < 0.25
    assert ("4999", "number") in rows[-1]


def test_very_long_code_and_very_long_lines_stay_plain() -> None:
    assert {
        roles for row in code_parts("x = 1\n" * 100_000, lexer_named("python"))[0].rows(80) for _, roles in row
    } == {""}
    assert {roles for row in code_parts("x" * 5_000, lexer_named("js"))[0].rows(80) for _, roles in row} == {""}


# ---- differences -----------------------------------------------------------------------------------------------


def test_an_edit_is_shown_as_lines_taken_out_and_put_in() -> None:
    assert shown(edit_parts("one\ntwo\nthree", "one\n2\nthree")) == ["  one", "- two", "+ 2", "  three"]
    assert edit_counts("one\ntwo\nthree", "one\n2\nthree") == (1, 1)
    assert edit_counts("", "a\nb") == (2, 0)


def test_long_stretches_that_are_the_same_are_cut() -> None:
    same = "\n".join([str(number) for number in range(40)])
    rows = shown(edit_parts(f"a\n{same}\nb", f"A\n{same}\nB"))
    assert "  ⋯ 34 lines the same" in rows
    assert len(rows) == 4 + 7


def test_a_difference_an_agent_wrote_keeps_its_line_numbers() -> None:
    assert style_diff("+ 12 new text") == [("+", "good"), (" 12", "faint"), (" new text", "good")]
    assert style_diff("@@ -1 +1 @@") == [("@@ -1 +1 @@", "accent")]
    assert written_diff_counts("--- a\n+++ b\n-x\n+y\n+z\n w") == (2, 1)


def test_two_huge_texts_are_not_compared_line_by_line() -> None:
    old, new = ("\n".join([f"{word} {number}" for number in range(20_000)]) for word in ("a", "b"))
    started = time.process_time()
    assert edit_counts(old, new) == (20_000, 20_000)
    assert time.process_time() - started < 0.5


# ---- tools -----------------------------------------------------------------------------------------------------


def call(name: str, **arguments: Any) -> ToolCallBlock:
    return ToolCallBlock(id="c1", name=name, arguments=arguments)


def result(text: str, **facts: Any) -> Result:
    return Result(tool_call_id="c1", content=(TextBlock(text=text),), **facts)


def test_a_call_and_its_result_are_one_block() -> None:
    parts = call_parts(call("bash", command="ls -l", timeout=5), Detail(results=lambda _: result("a\nb")))
    assert shown(parts) == ["⚙ bash  $ ls -l  timeout 5", "╰ result", "  a", "  b"]


def test_a_failed_call_says_so() -> None:
    parts = call_parts(call("read", path="x"), Detail(), result("No such file", is_error=True))
    assert shown(parts)[1:] == ["╰ failed", "  No such file"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a.py", "oldText": "x = 1", "newText": "x = 2"},
        {"path": "a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]},
        {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
    ],
)
def test_an_edit_shows_what_it_changes(arguments: dict[str, Any]) -> None:
    rows = shown(call_parts(call("edit", **arguments), Detail()))
    assert rows[0].endswith("a.py  +1 −1")
    assert rows[1:] == ["│ - x = 1", "│ + x = 2"]


def test_an_edit_with_a_difference_beside_its_result_shows_that() -> None:
    done = result("ok", details={"diff": " 1 a\n-2 x\n+2 y"})
    rows = shown(call_parts(call("edit", path="a", oldText="x", newText="y"), Detail(), done))
    assert rows == ["⚙ edit  path a  +1 −1", "│  1 a", "│ -2 x", "│ +2 y", "╰ result", "  ok"]


def test_a_written_file_is_shown_as_new_lines() -> None:
    rows = shown(call_parts(call("write", path="a.py", content="import os\nimport re\n"), Detail()))
    assert rows[0] == "⚙ write  path a.py"
    assert rows[1:3] == ["│ + import os", "│ + import re"]


def test_long_results_are_folded_with_a_count() -> None:
    text = "\n".join([str(number) for number in range(1, 235)])
    *head, fold = call_parts(call("read", path="x"), Detail(output_lines=20), result(text))
    assert shown(head)[-1] == "  20"
    assert isinstance(fold, Fold)
    assert texts(fold.rows(60)) == ["  ▸ 214 more lines"]
    assert shown(list(fold.body()))[0] == "  21"
    assert shown(list(fold.body()))[-1] == "  234"


def test_where_nothing_can_be_opened_the_count_stands_alone() -> None:
    parts = output_parts("x\n" * 100, Detail(output_lines=3, foldable=False))
    assert shown(parts)[-1] == "… 98 more lines"


def test_a_fold_never_hides_less_than_it_takes() -> None:
    assert cut_at("1\n2\n3\n4\n5", 3) == 9
    assert cut_at("x" * 100_000, 3) == 1200


def test_thinking_is_folded_unless_it_is_all_there_is() -> None:
    thought = ThinkingBlock(thinking="**Plan**\nfirst, then second")
    both = message_parts(AssistantMessage(content=(thought, TextBlock(text="Done."))), Detail())
    assert shown(both) == ["▸ ✧ thinking  2 lines  Plan first, then second", "", "Done."]
    (alone,) = message_parts(AssistantMessage(content=(thought,)), Detail())
    assert isinstance(alone, Fold)
    assert alone.is_open


# ---- images ----------------------------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 2, 0, 0, 0) + b"\0" * 4
GIF = b"GIF89a" + struct.pack("<HH", 32, 16) + b"\0" * 10
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc4\x00\x04ab\xff\xc2\x00\x11\x08" + struct.pack(">HH", 100, 200) + b"\0" * 12
WEBP_LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 150)
WEBP_LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 99 | 49 << 14)
WEBP_EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0f\0\0\x07\0\0"


@pytest.mark.parametrize(
    ("content", "area"),
    [
        (PNG, (640, 480)),
        (GIF, (32, 16)),
        (JPEG, (200, 100)),
        (WEBP_LOSSY, (300, 150)),
        (WEBP_LOSSLESS, (100, 50)),
        (WEBP_EXTENDED, (16, 8)),
        (PNG[:20], None),
        (b"\xff\xd8\xff\xff\xff\xff", None),
        (b"no image at all", None),
    ],
)
def test_an_images_header_tells_its_size(content: bytes, area: tuple[int, int] | None) -> None:
    assert dimensions(base64.b64encode(content).decode()) == area


@given(
    st.binary(max_size=80), st.sampled_from([b"", PNG[:8], JPEG[:3], b"GIF89a", WEBP_LOSSY[:16], WEBP_EXTENDED[:16]])
)
def test_no_header_breaks_the_row(tail: bytes, head: bytes) -> None:
    assert image_line("image/png", base64.b64encode(head + tail).decode())
    assert image_line("image/\x1b[31m", tail.decode("latin-1"))


def test_an_image_is_one_row_with_kind_area_and_size() -> None:
    (part,) = message_parts(
        AssistantMessage(content=(ImageBlock(mime_type="image/png", data=base64.b64encode(PNG * 60).decode()),)),
        Detail(),
    )
    assert shown([part]) == ["▣ image/png  640 × 480  1.9KB"]


def test_an_image_is_opened_as_a_private_copy_that_is_gone_afterwards(tmp_path: Path) -> None:
    opened: list[str] = []
    handed = TemporaryCopies(str(tmp_path))
    viewer = tmp_path / "xdg-open"
    viewer.write_text("#!/bin/sh\n")
    viewer.chmod(0o755)
    said = show_image(
        base64.b64encode(PNG).decode(),
        "/s.jsonl",
        handed,
        {"PATH": str(tmp_path), "DISPLAY": ":0"},
        platform="linux",
        start=lambda command, _: opened.extend(command),
    )
    copy = Path(opened[1])
    assert said == "Opened with xdg-open."
    assert copy.read_bytes() == PNG
    assert copy.suffix == ".png"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    handed.remove_all()
    assert not copy.parent.exists()


@pytest.mark.parametrize(
    ("data", "environ", "reason"),
    [
        (None, {}, "cannot open the image"),
        ("blob:sha256:" + "0" * 64, {}, "that file is gone"),
        ("blob:sha256:../../etc/passwd", {}, "that file is gone"),
        (base64.b64encode(b"#!/bin/sh\nrm").decode(), {"DISPLAY": ":0"}, "is not a PNG"),
        ("%%%", {"DISPLAY": ":0"}, "is not a PNG"),
        (base64.b64encode(PNG).decode(), {"PATH": "/nowhere"}, "no desktop"),
        (base64.b64encode(PNG).decode(), {"PATH": "/nowhere", "DISPLAY": ":0"}, "not installed"),
    ],
)
def test_why_an_image_cannot_be_opened_is_said(data: str | None, environ: dict[str, str], reason: str) -> None:
    with pytest.raises(NoViewer, match=reason):
        show_image(
            data, "/s.jsonl", TemporaryCopies(), environ, platform="linux", start=lambda *_: pytest.fail("started")
        )


def test_an_image_that_omp_keeps_beside_the_sessions_is_found_there(tmp_path: Path) -> None:
    name = "ab" * 32
    sessions = tmp_path / "agent" / "sessions" / "--work--"
    sessions.mkdir(parents=True)
    (tmp_path / "agent" / "blobs").mkdir()
    (tmp_path / "agent" / "blobs" / name).write_bytes(PNG)
    session = str(sessions / "s.jsonl")
    assert read_blob(session, f"blob:sha256:{name}") == PNG
    assert read_blob(session, "blob:sha256:" + "cd" * 32) is None
    assert read_blob(session, f"blob:sha256:{name.upper()}") is None
    assert read_blob(session, f"blob:sha256:{name}.png") is None


# ---- folds in a document ---------------------------------------------------------------------------------------


def line(text: str) -> Part:
    return LinePart([(text, "")])


def rows_of(document: DocumentLayout) -> list[str]:
    index = 0
    while index < len(document.parts):
        document.measure(index)
        index += 1
    document.update_tops()
    found = [row for index in range(len(document.parts)) for row in texts(document.rows(index))]
    assert document.height == len(found)
    return found


def nested() -> list[Part]:
    inner = Fold([("inner", "")], lambda: [line("deep")])
    return [line("above"), Fold([("outer", "")], lambda: [line("a"), inner, line("b")]), line("below")]


def test_a_fold_opens_and_closes_with_what_is_in_it() -> None:
    document = DocumentLayout(nested(), 40)
    assert rows_of(document) == ["above", "▸ outer", "below"]
    document.toggle(1)
    assert rows_of(document) == ["above", "▾ outer", "a", "▸ inner", "b", "below"]
    document.toggle(3)
    assert rows_of(document) == ["above", "▾ outer", "a", "▾ inner", "deep", "b", "below"]
    document.toggle(1)
    assert rows_of(document) == ["above", "▸ outer", "below"]


def test_all_folds_open_at_once_also_in_parts_that_are_built_later() -> None:
    document = DocumentLayout([*nested(), *[line("x" * 39)] * 200, LazyPart(nested)], 40)
    document.toggle_all()
    opened = rows_of(document)
    assert opened[:5] == ["above", "▾ outer", "a", "▾ inner", "deep"]
    assert opened[-5:] == ["a", "▾ inner", "deep", "b", "below"]
    document.toggle_all()
    assert rows_of(document)[:3] == ["above", "▸ outer", "below"]


def test_what_shows_first_is_built_once_and_before_it_is_painted() -> None:
    built: list[int] = []

    def lazy(number: int) -> Part:
        def make() -> list[Part]:
            built.append(number)
            return [line(f"part {number}")]

        return LazyPart(make)

    parts = [lazy(number) for number in range(1_000)]
    warm(parts)
    assert built == list(range(SHOWN_FIRST))
    assert shown(parts[:3]) == ["part 0", "part 1", "part 2"]
    assert len(built) == SHOWN_FIRST


def test_a_fold_of_fifty_megabytes_opens_at_once() -> None:
    text = "a line of some length, as tools write them\n" * 1_200_000
    parts = output_parts(text, Detail(output_lines=20))
    document = DocumentLayout(parts, 80)
    started = time.process_time()
    document.toggle(len(document.parts) - 1)
    assert document.height > 1_000_000
    assert time.process_time() - started < 1


def test_what_is_long_is_cut_by_characters_where_no_line_ends() -> None:
    data = json.dumps({"key": "v" * 50_000})
    *head, fold = output_parts(data, Detail(output_lines=5))
    assert texts(fold.rows(60))[0].endswith("more characters")
    assert "".join([part.plain() for part in text_parts(data)]) == data
    assert sum([len(part.plain()) for part in head]) == 2_000


def test_the_row_of_an_image_is_cut_to_the_pane() -> None:
    part = ImagePart("image/" + "x" * 200, None)
    assert len(texts(part.rows(30))[0]) <= 30


def test_the_intent_of_a_call_is_shown_once() -> None:
    whole = ToolCallBlock(id="c", name="read", arguments={"i": "Reading it", "path": "a.md"}, intent="Reading it")
    assert shown(call_parts(whole, Detail())) == ["⚙ read  Reading it  path a.md"]
    other = ToolCallBlock(id="c", name="read", arguments={"i": "2", "path": "a.md"}, intent="Reading it")
    assert shown(call_parts(other, Detail())) == ["⚙ read  Reading it  i 2  path a.md"]
