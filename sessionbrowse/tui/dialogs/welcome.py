"""The welcome screen for a user without sessions: offers the demo and lists the searched directories."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from sessionbrowse import text
from sessionbrowse.agents import AGENTS
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import WELCOME
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, agent_span, pad
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.span_view import KeyBar
from sessionbrowse.tui.widgets.text_view import TextView

WINDOW_CELLS = 72
"""Width in cells of the welcome window; the style sheet sets the same width."""
FRAME_CELLS, FRAME_ROWS = 7, 4
"""The width in cells and the height in rows of the welcome window's border, padding and scroll bar together."""


class WelcomeScreen(CommandScreen[None]):
    """The welcome screen, shown when no session was found on this machine."""

    CONTEXTS = (WELCOME,)

    def __init__(self) -> None:
        super().__init__(name="welcome")
        self._exists: dict[str, bool | None] = {}

    def compose(self) -> ComposeResult:
        """Make the widgets of the welcome screen."""
        with Vertical(id="welcome-window", classes="window"):
            yield TextView(id="welcome-text")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Show the searched directories, and check in the background whether they exist."""
        self.query_one("#welcome-window").border_title = "sessionbrowse"
        self._show()
        self.set_focus(self.query_one(TextView))
        self.update_footer()
        roots = [place.root for place in self.browser.source.places]
        exists_many = self.browser.source.exists_many
        self.lane("places", self._receive_places).ask(lambda job: exists_many(roots))

    def on_resize(self) -> None:
        """Lay the welcome window out for the new size of the screen."""
        self._show()

    def on_screen_resume(self) -> None:
        """Close the welcome screen if sessions were found while the help was open."""
        if len(self.browser.library):
            self.dismiss(None)

    def _receive_places(self, outcome: Outcome) -> None:
        """Mark the searched directories that do not exist."""
        if isinstance(outcome.value, dict):
            self._exists = outcome.value
            self._show()

    def _show(self) -> None:
        keys = self.browser.keys
        parts: list[Part] = [
            LinePart([("No sessions yet", "title")]),
            LinePart([]),
            LinePart([("This is a browser for the sessions of pi, omp, atomic, indusagi, Claude Code and Codex.", "")]),
            LinePart([]),
        ]
        # Commands come first, because a small screen shows only the beginning.
        offers = (
            ("demo", "open the demo: sample sessions; nothing real is touched"),
            ("reload", "scan the disk again"),
            ("back", "open the list anyway, for undo and the archive"),
            ("quit", "leave"),
        )
        for command_id, what in offers:
            key: Line = pad([("  ", ""), (keys.key_of(command_id), "key")], 6)
            parts.append(LinePart([*key, (what, "")], indent=6))
        parts += [LinePart([]), LinePart([("Searched directories:", "")])]
        for agent in AGENTS:
            roots = list(dict.fromkeys([p.root for p in self.browser.source.places if p.agent == agent]))
            for root in roots[:4]:
                shown = clean(text.shorten_home(root, self.browser.home))
                missing: Line = [("  missing", "warning")] if self._exists.get(root) is False else []
                line: Line = [("  ", ""), agent_span(agent), (f" {agent:<9}", ""), (shown, "dim"), *missing]
                parts.append(LinePart(line, indent=14))
        text_view = self.query_one(TextView)
        # Compute the text's width from the size of the screen: before the first frame, the text has no width yet.
        cells = min(WINDOW_CELLS, self.size.width * 96 // 100) - FRAME_CELLS
        rows = sum([len(part.rows(max(1, cells))) for part in parts])
        text_view.styles.height = max(1, min(rows, (self.size.height - 1) * 92 // 100 - FRAME_ROWS))
        text_view.show(parts, keep_place=True)

    def do_demo(self) -> None:
        """Open the demo, which shows sample sessions."""
        self.browser.open_demo()

    def do_back(self) -> None:
        """Close the welcome screen; the list below it has all commands."""
        self.dismiss(None)

    def do_reload(self) -> None:
        """Close the welcome screen and scan the disk for sessions again."""
        self.browser.start_scan()
        self.dismiss(None)
