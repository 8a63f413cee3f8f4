"""Short texts that many screens show: agents, statuses, directories, first lines of messages.

Text from session files is passed through `clean`, which removes control characters; nothing is parsed as markup.
"""

from __future__ import annotations

from sessionbrowse import text
from sessionbrowse.model.listing.directories import split
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean
from sessionbrowse.tui.paint.spans import ELLIPSIS, Line

GLYPHS = {"pi": "π", "omp": "ω", "atomic": "α", "indusagi": "ι", "claude": "c", "codex": "x"}
"""The letter that represents each agent in list rows, where its name would be too long; the preview shows the name."""

STATUS_SIGNS = {
    "interrupted": ("!", "warning"),
    "aborted": ("■", "dim"),
    "error": ("⊗", "error"),
    "pending": ("◔", "accent"),
}
"""The sign (one cell) and the role (style name) for each session status in lists; complete sessions have no sign."""

CRUMB: Line = [(" › ", "faint")]
"""The separator between two items of the path in the header, such as project and session."""

TITLE_CHARACTERS = 400
"""Maximum number of characters that `one_line` returns by default; no row is wider, so more would not be visible."""


def agent_span(agent: str) -> tuple[str, str]:
    """Return the letter that represents an agent in list rows, in the agent's colour."""
    return (GLYPHS.get(agent, "·"), agent if agent in GLYPHS else "dim")


def status_words(summary: Summary) -> Line:
    """Return a session's status with its sign (`done` if complete), shown after the agent's name; [] if unknown."""
    if summary.status in (None, "complete"):
        return [(" · done", "dim")] if summary.status else []
    sign, role = STATUS_SIGNS[summary.status]
    return [(" · ", "dim"), (f"{sign} {summary.status}", role)]


def one_line(foreign: str, characters: int = TITLE_CHARACTERS) -> str:
    """Return the beginning of a text in one line: control characters removed, runs of white space joined.

    A text that is cut ends with an ellipsis.
    """
    # White space is joined before the text is cut, because a message may start with many blanks or empty lines.
    head = " ".join(foreign[: characters * 4].split())
    is_cut = len(head) > characters or bool(foreign[characters * 4 :].strip())
    return clean(head[: characters - 1] + ELLIPSIS if is_cut else head)


def project_name(cwd: str, home: str) -> tuple[str, str]:
    """Split a directory's path for display: return its last component, and the path above with `~` for the home."""
    shown = clean(text.shorten_home(cwd, home))
    above, name = split(shown)
    return (name, above.rstrip("/")) if name and above else (shown, "")
