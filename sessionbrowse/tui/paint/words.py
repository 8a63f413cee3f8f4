"""Spans and strings that many screens share: counts with their noun, directories, agents, one clean line.

Foreign text passes `clean` here; nothing is ever parsed as markup.
"""

from __future__ import annotations

from sessionbrowse import text
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean
from sessionbrowse.tui.paint.spans import Line

GLYPHS = {"pi": "π", "omp": "ω", "atomic": "α", "indusagi": "ι"}
"""The letter that stands for an agent in a row; the preview shows the agent's name."""

STATUS_SIGNS = {
    "interrupted": ("!", "warning"),
    "aborted": ("■", "dim"),
    "error": ("⊗", "error"),
    "pending": ("◔", "accent"),
}
"""The sign and role of a session's status in a row, one cell each; a complete session has none, so lists stay quiet."""

CRUMB: Line = [(" › ", "faint")]
"""The separator between two places of the path in the header."""

TITLE_CHARACTERS = 400
"""Maximum number of characters of a title. No row is wider, so cleaning more text would be wasted."""


def agent_span(agent: str) -> tuple[str, str]:
    """Return the agent's letter in its colour."""
    return (GLYPHS.get(agent, "·"), agent if agent in GLYPHS else "dim")


def status_words(summary: Summary) -> Line:
    """Return a session's status with its sign, to stand behind the agent; nothing if it has none."""
    if summary.status in (None, "complete"):
        return [(" · done", "dim")] if summary.status else []
    sign, role = STATUS_SIGNS[summary.status]
    return [(" · ", "dim"), (f"{sign} {summary.status}", role)]


def one_line(foreign: str, characters: int = TITLE_CHARACTERS) -> str:
    """Return the beginning of a foreign text as one clean line, runs of blanks joined."""
    # Blanks are joined before cutting: a message may start with a screenful of them.
    head = " ".join(foreign[: characters * 4].split())[:characters]
    return clean(head)


def folder_name(cwd: str, home: str) -> tuple[str, str]:
    """Return a directory's own name and the clean, shortened path above it."""
    shown = clean(text.shorten_home(cwd.rstrip("/\\") or cwd, home))
    above, slash, name = shown.rpartition("/")
    return (name, above) if name and slash else (shown, "")
