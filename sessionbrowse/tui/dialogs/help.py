"""The help screen: lists the keys of the screen that it covers, and says why a command is unavailable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from sessionbrowse.tui.commands.command import CUSTOM, GROUPS, HELP, MOVE, OVERLAY, Command, CommandContext, has_words
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part, wrap_line
from sessionbrowse.tui.paint.spans import Line, Span, pad
from sessionbrowse.tui.search.sentences import EXAMPLES
from sessionbrowse.tui.shell.command_screen import CommandScreen, state_for_commands
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.text_view import TextView

KEY_CELLS = 18
COLUMN_CELLS = 56
"""Minimum width in cells of a column of the help; a window at least twice as wide has two columns."""


class HelpScreen(TextWindow):
    """The help screen: the keys that work on the screen that it covers, by group of commands."""

    CONTEXTS: ClassVar[tuple[str, ...]] = (HELP, OVERLAY)

    def __init__(self, contexts: tuple[str, ...], context: CommandContext) -> None:
        super().__init__("Keys that work here", name="help")
        self._contexts = contexts
        self._command_context = context
        self._words = ""

    def compose(self) -> ComposeResult:
        """Make the widgets of the help screen: the list of keys, and the filter line."""
        with Vertical(id="text-window", classes="window"):
            yield TextView(id="window-text")
            yield FilterLine(id="filter")

    @property
    def keys_line(self) -> str:
        """The keys that filter the list and close the window."""
        keys = self.browser.keys.key_of
        return f"{keys('find_key')} filter · {keys('close')} close"

    def moving(self) -> TextView:
        """Return the list of keys, which the movement keys scroll while the user types a filter."""
        return self.query_one("#window-text", TextView)

    def parts(self) -> list[Part]:
        """Return the lines of the help screen: for each command with the words, each kind of search, and each sign."""
        found = help_parts(self.browser.keys, self._contexts, self._command_context, self._words)
        searches = BY_ID["filter"] in self.browser.keys.at(self._contexts)
        for title, known in (("Searches", EXAMPLES if searches else {}), ("Signs", SIGNS)):
            if lines := legend(known, self._words):
                found += [LinePart([]), LinePart([(title, "accent strong")]), ColumnsPart(lines)]
        palette = self.browser.keys.key_of("palette")
        return found or [LinePart([(f"No key has these words. {palette} also finds commands without a key.", "dim")])]

    def text_changed(self, text: str) -> None:
        """Show the keys of the commands that match the typed words."""
        self._words = text
        self.show_parts()

    def do_find_key(self) -> None:
        """Open the filter line; the user types words, and only commands that contain these words are shown."""
        self.query_one(FilterLine).open("/", self._words, "words that a command must contain", replacing=True)

    def do_accept_filter(self) -> None:
        """Keep the filter, and focus the list of keys, so that the movement keys scroll it."""
        self.set_focus(self.moving())

    def do_clear_filter(self) -> None:
        """Close the filter line and show the keys of all commands."""
        self.query_one(FilterLine).close()
        self.text_changed("")
        self.set_focus(self.moving())


def do_help(screen: CommandScreen[Any]) -> None:
    """Open the help screen, which lists the keys that work on the current screen."""
    screen.browser.push_screen(HelpScreen(screen.active_contexts(), state_for_commands(screen)))


def help_parts(keys: Keys, contexts: tuple[str, ...], context: CommandContext, words: str = "") -> list[Part]:
    """Return the lines of the help screen: the commands of the given contexts that contain all `words`.

    Contexts are names of panes and screens in the command table. Commands without a key or a letter are left to the
    palette. The lines are grouped. The group with the most
    commands of the focused pane (`contexts[0]`) comes first, the group of the commands that move the cursor last.
    """
    commands = [command for command in keys.at(contexts) if has_words(command, words)]

    def rank(group: str) -> tuple[bool, int]:
        return group == MOVE, -sum([each.group == group and contexts[0] in each.where for each in commands])

    parts: list[Part] = []
    for group in sorted(GROUPS, key=rank):
        by_verb: dict[tuple[str, str], list[Command]] = {}
        for command in commands:
            has_way = command.letter or command.group == CUSTOM or keys.shown(command, contexts)
            if command.group == group and has_way:
                by_verb.setdefault((command.verb, command.help), []).append(command)
        lines = [_help_line(same, keys, contexts, context) for same in by_verb.values()]
        if lines:
            if parts:
                parts.append(LinePart([]))
            parts += [LinePart([(group, "accent strong")]), ColumnsPart(lines)]
    return parts


SIGNS: dict[str, str] = {
    "π ω α ι c x": "the agent: pi, omp, atomic, indusagi, claude, codex",
    "⌥3": "the session has 3 branches",
    "⌥ ▒": "a hit on an abandoned branch; in compacted history, which a summary replaces",
    "⧉2": "the hit's entry is also in 2 other files (forks, copies)",
    "+2 more: o": "the session has 2 more hits; the key shows them",
    "⚑": "a label; in lists with their number",
    "⊞ ⊟": "folded: more below; unfolded",
    "↳": "a fork",
    "✗": "problems in the file",
    "↯": "resumes without its newest message",
    "●": "open in a running agent",
    "○": "changed just now, perhaps in use",
    "! ■ ⊗ ◔": "ended: interrupted, aborted, with an error, pending",
    "@mini": "on the machine mini, as it was at the last look",
    "★": "pinned",
    "✓": "selected",
    "•": "on the active branch, where the agent resumes",
    "← leaf": "the end of the active branch",
    "$1.29": "at the right of the tree: the cost of the branch that begins there",
    "29 + 4 folded": "rows in the list; sessions folded below them (forks, subagents)",
    "∑": "the summary of a compaction",
    "░": "in a chart of costs: spent on abandoned branches",
    "▸ ▾": "a fold of the view: closed, open",
}
"""The signs in lists, trees and views, and their meanings."""


def legend(known: Mapping[str, str], words: str = "") -> list[Line]:
    """Return one line for each sign or example whose meaning contains all `words`."""
    wanted = words.lower().split()
    fitting = [
        (sign, means) for sign, means in known.items() if all(word in f"{sign} {means}".lower() for word in wanted)
    ]
    return [[("  ", ""), *pad([(sign, "key")], KEY_CELLS), (means, "")] for sign, means in fitting]


def _help_line(same: list[Command], keys: Keys, contexts: tuple[str, ...], context: CommandContext) -> Line:
    """Return the line of the commands of one verb, such as up and down: their keys, the help, why they cannot work."""
    command, reason = same[0], same[0].unavailable(context)
    labels = " ".join(
        [keys.shown(each, contexts, all_keys=True) or (each.letter and keys.key_of(each.id)) for each in same]
    )
    shown: Line = [*pad([(labels, "key" if reason is None else "faint")], KEY_CELLS - 1), (" ", "")]
    said = BY_ID["resume"].help if command.id == "open" and context.enter_resumes else command.help
    line: Line = [("  ", ""), *shown, (said, "" if reason is None else "dim")]
    if reason is not None:
        line.append((f"  Not now: {reason}", "warning"))
    return line


class ColumnsPart:
    """Lines, wrapped beside their keys, in two columns if the width allows; they fill the left column first."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def estimate(self, width: int) -> int:
        """Return how many rows the lines need in a pane of `width` cells; exact, because they are few."""
        return len(self.rows(width))

    def rows(self, width: int) -> list[Line]:
        """Return all lines as rows for a pane of `width` cells; a row contains a row of each column."""
        columns = 2 if width >= 2 * COLUMN_CELLS else 1
        cells = width // columns
        blocks = [wrap_line(line, max(1, cells - 1), indent=KEY_CELLS + 2) for line in self._lines]
        half, left, right = -(-sum(map(len, blocks)) // columns), list[Line](), list[Line]()
        for block in blocks:
            (right if right or len(left) >= half else left).extend(block)
        pairs = zip_longest(left, right, fillvalue=list[Span]())
        return [[*pad(one, cells), *(pad(other, cells) if columns > 1 else [])] for one, other in pairs]

    def plain(self) -> str:
        """Return the text of all lines without styles, one line after the other."""
        return "\n".join(["".join([text for text, _ in line]) for line in self._lines])
