"""The package holds no code that nothing uses. Tests count as users only of the public library."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

import sessionbrowse

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
OF_TEXTUAL = """
border_subtitle cursor_position cursor_blink refresh_styles can_replace validate_cursor get_selection selection_updated
vertical_scrollbar _update_timer _watch_app_focus _end_mount _keep_new_styles
_run_input_thread _query_in_band_window_resize available_themes get_content_width get_content_height
ALLOW_SELECT AUTO_FOCUS CSS_PATH ENABLE_COMMAND_PALETTE
"""
CALLED_BY_OTHERS = {
    "the command table": ("do_*",),
    "Textual": (
        "compose",
        "on_*",
        "_on_*",
        "_*ed",
        "action_*",
        "watch_*",
        "validate_*",
        "render*",
        *OF_TEXTUAL.split(),
    ),
    "markdown-it-py": ("normalizeLink", "normalizeLinkText", "validateLink"),
    "argparse": ("print_help", "option_string", "_check_value"),
    "Python": ("__getattr__", "__dir__"),
    "the system, as memory kept in reserve": ("_reserve",),
    "a file's own field, read by msgspec": ("targetId", "total_tokens"),
    "the public library": (*sessionbrowse.__all__, "parent_session_path", "source_entry"),
}


def test_nothing_is_unused():
    vulture = pytest.importorskip("vulture")
    finder = vulture.Vulture()
    finder.scavenge([str(ROOT / "sessionbrowse"), str(ROOT / "tests")])
    allowed = [name for names in CALLED_BY_OTHERS.values() for name in names] + dir(sessionbrowse.SessionManager)
    unused = [
        f"{Path(item.filename).relative_to(ROOT)}:{item.first_lineno} {item.name}"
        for item in finder.get_unused_code(min_confidence=60)
        if Path(item.filename).is_relative_to(ROOT / "sessionbrowse")
        and not any(fnmatch(item.name, pattern) for pattern in allowed)
    ]
    assert unused == []


def test_a_function_that_nothing_uses_is_found(tmp_path: Path):
    vulture = pytest.importorskip("vulture")
    (tmp_path / "odd.py").write_text("def forgotten():\n    return 1\n")
    finder = vulture.Vulture()
    finder.scavenge([str(tmp_path)])
    assert [item.name for item in finder.get_unused_code(min_confidence=60)] == ["forgotten"]
