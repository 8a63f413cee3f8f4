"""The screen that lists the damaged places of a session's file."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.model.session.records import Problem
from sessionbrowse.model.session.session import Session
from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.words import plural

INDENT = 2


class DamageScreen(TextWindow):
    """The problems of one file, in the order of its lines."""

    def __init__(self, session: Session) -> None:
        super().__init__("Damage in this file", name="damage")
        self._session = session

    def parts(self) -> Sequence[Part]:
        """Return a line for each problem, below a summary."""
        problems = self._session.problems
        said = f"{plural(len(problems), 'problem')} in {clean(shorten_home(self._session.path, self.browser.home))}"
        rest = "Everything else was read. Nothing was repaired: reading never changes a file."
        parts: list[Part] = [LinePart([(said, "strong")]), LinePart([(rest, "dim")]), LinePart([])]
        return [*parts, *[problem_part(problem) for problem in problems]]


def problem_part(problem: Problem) -> Part:
    """Return the line of one problem: its place in the file, and the reason."""
    place = f"✗ line {problem.line:,}, byte {problem.offset:,}: "
    return LinePart([(place, "error"), (clean(problem.reason), "")], indent=INDENT)
