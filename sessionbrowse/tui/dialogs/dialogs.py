"""Dialogs over a screen: a choice between a few answers, or a line to type."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from sessionbrowse.agents.base import expand_home
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import DIALOG, PROMPT
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit, line_width, sides
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.filter_line import FilterInput
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList
from sessionbrowse.tui.widgets.text_view import TextView

Result = TypeVar("Result")

BORDERS = 2
MOST_NAMES = 5_000
"""Maximum number of names of a directory among which one is completed."""
MOST_OFFERS = 6
"""Maximum number of suggestions that are visible below a dialog's text line."""


_LETTERS = """
    trash=t nowhere=p own=o anyway=! instead=i
    leaf=l checkout=c fork=f repair=w elsewhere=d relocate=m delete=D
    to-pi=p to-omp=o to-atomic=a carry=o carry-resume=r convert=a
    here=h tmux-window=n tmux-split=s command=u clipboard=y list=U open=o
    selected=s unlabelled=u abandoned=a cursor=e
    images=i results=o thinking=r everything=a
    beside=n file=f place=r copy=f
    html=h markdown=m jsonl=l json=o
    plain=p masked=i plain-at=e masked-at=s
    text=t raw=r entry=e id=i path=p cwd=d resume=c
"""
LETTERS: dict[str, str] = dict(pair.split("=") for pair in _LETTERS.split())
"""Maps the key of an answer to its letter, which is the same in every dialog.

`Cancel` has no letter. Nor has the only answer of a question, so that a word typed by mistake never accepts it.
"""
LEAST_REMARK = 12
"""Minimum width in cells of the remark at the right of a long answer in a dialog."""


class Choice(Struct, frozen=True):
    """An answer in a dialog: the dialog's result (`key`), the shown text, a remark at the right edge, and the style.

    `do` is called by `ask` if the user chooses the answer.
    """

    key: str
    text: str
    right: str = ""
    roles: str = ""
    do: Callable[[], object] | None = None


CANCEL = Choice("no", "Cancel")
"""The answer that changes nothing, for dialogs of which the safe answer is not first."""


class Dialog(CommandScreen[Result]):
    """Base of dialogs: a window over a screen with a text and, below it, a question (answers or a text field)."""

    CONTEXTS = (DIALOG,)
    ENTER = "accept"

    def __init__(self, title: str, parts: Sequence[Part], accepting: str = "choose") -> None:
        """Make a dialog; `accepting` is the verb that it shows beside the key that accepts the answer."""
        super().__init__(name="dialog")
        self._heading = title
        self._accepting = accepting
        self._parts = parts

    # Textual calls this after the `on_mount` of the derived class.
    def on_mount(self) -> None:
        """Fill the dialog's window: title, keys, text and question."""
        self.query_one("#dialog-window").border_title = Content(clean(self._heading))
        self.tell_keys()
        self.query_one("#dialog-text", TextView).show(self._parts)
        self.lay_out(self.size.width, self.size.height)

    def tell_keys(self, before: str = "") -> None:
        """Show the text `before`, and the keys that accept and cancel, at the lower edge of the window."""
        keys, window = self.browser.keys.key_of, self.query_one("#dialog-window")
        window.border_subtitle = Content(f"{before}{keys('accept')} {self._accepting} · {keys('cancel')} cancel")

    @property
    def rows(self) -> RowList:
        """The widget that lists the answers or suggestions."""
        return self.query_one("#dialog-rows", RowList)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the dialog out for the new size of the screen."""
        self.lay_out(event.size.width, event.size.height)

    def lay_out(self, width: int, height: int) -> None:
        """Set the heights in a dialog: first the question gets the rows that it needs, then the text gets the rest."""
        text = self.query_one("#dialog-text", TextView)
        cells = min(84, width * 96 // 100) - BORDERS - 3
        wanted = sum([len(part.rows(max(1, cells))) for part in self._parts])
        room = max(4, height * 92 // 100) - BORDERS
        rows = self.lay_out_question(room, wanted)
        text.styles.height = max(0, min(wanted, room - rows))
        text.display = bool(self._parts)

    @abstractmethod
    def lay_out_question(self, room: int, text: int) -> int:
        """Set and return the question's height; the dialog has `room` rows, and its text needs `text` rows."""

    def do_cancel(self) -> None:
        """Close the dialog without an answer."""
        self.dismiss(None)

    do_quit = do_cancel


class AskScreen(Dialog[str | None]):
    """A dialog with a text and a list of answers; its result is the key of the chosen answer, None if cancelled."""

    def __init__(self, title: str, parts: Sequence[Part], choices: Sequence[Choice], *, empty: str = "") -> None:
        super().__init__(title, parts)
        self._choices = choices
        self._empty = empty
        self._letters = [LETTERS.get(choice.key, "") for choice in choices]

    def compose(self) -> ComposeResult:
        """Make the widgets of the dialog."""
        with Vertical(id="dialog-window", classes="window"):
            yield TextView(id="dialog-text")
            yield RowList(self.render_choice, wraps=True, id="dialog-rows", empty=self._empty)

    def on_mount(self) -> None:
        """Show the answers, with the cursor on the first answer."""
        self.rows.set_rows([choice.key for choice in self._choices])
        self.set_focus(self.rows)

    def lay_out_question(self, room: int, text: int) -> int:
        """Set the height of the list: all answers if possible, but the text may take up to half of the dialog."""
        # Without answers, the list shows a message, which may need two rows.
        wanted = len(self._choices) or 2
        height = max(min(2, wanted), min(wanted, max(room // 2, room - text)))
        self.rows.styles.height = height
        self.tell_keys(f"{height} of {len(self._choices)} shown · " if height < len(self._choices) else "")
        return height

    def render_choice(self, index: int, width: int) -> Line:
        """Return the row of an answer: its letter, its text, and the remark at the right."""
        choice = self._choices[index]
        left: Line = [(choice.text, choice.roles)]
        if any(self._letters):
            cells = max(map(len, self._letters)) + 2
            left = [(f"{self._letters[index]:<{cells}}", "key"), *left]
        right = fit([(choice.right, "dim")], max(LEAST_REMARK, width - line_width(left) - 2))
        return sides(left, right, width, least=0)

    async def take_key(self, event: events.Key) -> bool:
        """Handle a key press; the letter of an answer closes the dialog before the next key press is handled."""
        if await super().take_key(event):
            return True
        if (key := self.answer_of(event)) is not None:
            self.dismiss(key)
        return key is not None

    def answer_of(self, event: events.Key) -> str | None:
        """Return the key of the answer that has a pressed letter; None if no answer has it."""
        pressed = event.character
        return next((choice.key for choice in self._choices if pressed and LETTERS.get(choice.key) == pressed), None)

    def do_accept(self) -> None:
        """Close the dialog with the answer under the cursor as its result."""
        key = self.rows.key
        self.dismiss(key if isinstance(key, str) else None)


def paragraph(*lines: Line) -> list[Part]:
    """Return lines of a dialog's text, and the blank row after them."""
    return [*map(LinePart, lines), LinePart([])]


def ask(browser: Browser, title: str, parts: Sequence[Part], choices: Sequence[Choice], *, empty: str = "") -> None:
    """Show a dialog with a list of answers, and call the `do` of the chosen answer."""

    def answered(key: str | None) -> None:
        chosen = next((choice for choice in choices if choice.key == key), CANCEL)
        if chosen.do is not None:
            chosen.do()

    browser.push_screen(AskScreen(title, parts, choices, empty=empty), answered)


Hint = Callable[[str], Line]
"""A function that returns the hint below a dialog's text field: the effect of the text, or why it is invalid."""


def prompt(
    browser: Browser, title: str, parts: Sequence[Part], answered: Callable[[str], object], **options: Any
) -> None:
    """Ask for a text, and pass it to `answered` unless the user cancels; `options` are those of `PromptScreen`."""

    def closed(text: str | None) -> None:
        if text is not None:
            answered(text)

    browser.push_screen(PromptScreen(title, parts, **options), closed)


class PromptScreen(Dialog[str | None]):
    """A dialog with a text field and suggestions; its result is the text in the field, None if cancelled.

    `hint` returns the line below the field: the effect of the typed text. The movement keys put a suggestion into the
    field. `completes` says which paths can be completed in the field, if its text is a path. A relative path starts at
    `folder`, or at the home directory.
    """

    TYPING_CONTEXT = PROMPT

    def __init__(
        self,
        title: str,
        parts: Sequence[Part],
        *,
        text: str = "",
        placeholder: str = "",
        hint: Hint = lambda text: [],
        offers: Sequence[str] = (),
        accepting: str = "OK",
        completes: Literal["", "directory", "file"] = "",
        folder: str = "",
    ) -> None:
        super().__init__(title, parts, accepting)
        self._text = text if text in offers else clean(text)
        self._placeholder = placeholder
        self._hint = hint
        self._offers = list(offers)
        self._shown: list[str] = []
        self._completes = completes
        self._folder = folder

    def compose(self) -> ComposeResult:
        """Make the widgets of the dialog."""
        with Vertical(id="dialog-window", classes="window"):
            yield TextView(id="dialog-text")
            yield FilterInput(id="dialog-input", compact=True, placeholder=self._placeholder, select_on_focus=False)
            yield TextView(id="dialog-hint")
            yield RowList(self._render_offer, id="dialog-rows")

    def on_mount(self) -> None:
        """Put the initial text into the dialog's text field, and focus the field."""
        self._put(self._text)
        self._show_offers(self._offers)
        self._say()
        self.set_focus(self.line)
        if self._completes == "file":
            self.line.select_all()  # A typed path replaces the proposed one.

    @property
    def line(self) -> Input:
        """The dialog's text field."""
        return self.query_one("#dialog-input", Input)

    def moving(self) -> RowList | None:
        """Return the list of suggestions, where arrow keys move the cursor while the user types; None if empty."""
        return self.rows if self._shown else None

    def lay_out_question(self, room: int, text: int) -> int:
        """Set the height of the dialog's question: the text field, two rows of hint, and some suggestions."""
        offers = min(len(self._offers), MOST_OFFERS, max(1, room - 4 - text)) if self._offers else 0
        self.rows.display = bool(offers)
        self.rows.styles.height = offers
        return 3 + offers

    def text_changed(self, text: str) -> None:
        """Show the hint for the typed text, and the suggestions that contain the text."""
        if text != self._text:
            self._text = text
            wanted = text.strip().casefold()
            fitting = [offer for offer in self._offers if wanted in offer.casefold()]
            self._show_offers(fitting or self._offers)
            self._say()

    def _show_offers(self, offers: list[str]) -> None:
        self._shown = offers
        self.rows.set_rows(offers, cursor=self._text)

    def focus_changed(self) -> None:
        """Highlight the suggestion under the cursor only while the text field contains that suggestion."""
        super().focus_changed()
        self._tell_rows()

    def _tell_rows(self) -> None:
        self.rows.lend_keys(self.typing and self._text in self._shown)

    def _say(self) -> None:
        self._tell_rows()
        hint = self._hint(self._text)
        self.query_one("#dialog-hint", TextView).show([LinePart(hint)] if hint else [])

    def _render_offer(self, index: int, width: int) -> Line:
        return fit([(clean(self._shown[index]), "")], max(0, width - GUTTER))

    def _take_offer(self) -> None:
        key = self.rows.key
        if isinstance(key, str):
            self._put(key)
            self._say()

    def _put(self, text: str) -> None:
        """Make `text` the text of the field, without a hint or other suggestions for it."""
        self._text = text
        with self.prevent(Input.Changed):
            self.line.value = clean(text)
        self.line.cursor_position = len(self.line.value)

    @on(RowList.Highlighted, "#dialog-rows")
    def _highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()

    def row_entered(self) -> None:
        """Put the clicked suggestion into the text field."""
        self._take_offer()

    def do_complete(self) -> None:
        """Complete the path in the text field as far as it is unambiguous; suggest the names that can follow."""
        if not self._completes:
            self.browser.say("This field is no path to complete.", "warning")
            return
        typed, home, only_directories = self.line.value, self.browser.home, self._completes == "directory"
        lane = self.lane("complete", self._completed)
        lane.ask(lambda job: (typed, *complete(typed, home, self._folder, only_directories=only_directories)))

    def _completed(self, outcome: Outcome) -> None:
        if outcome.error is not None or outcome.value[0] != self.line.value:
            return
        typed, completed, names = outcome.value
        self._put(completed)
        self._say()
        if completed == typed and len(names) != 1:
            shown = "  ".join([clean(name) for name in names]) or "No name begins so."
            self.query_one("#dialog-hint", TextView).show([LinePart([(shown, "dim")])])

    def do_up(self) -> None:
        """Put the previous suggestion into the text field."""
        self._move(-1)

    def do_down(self) -> None:
        """Put the next suggestion into the text field, or the first suggestion if the field contains none."""
        self._move(1)

    def _move(self, delta: int) -> None:
        if self._shown:
            if self._text in self._shown:
                self.rows.move(delta, wrap=True)
            self._take_offer()

    def do_accept(self) -> None:
        """Close the dialog with the text in the text field as its result."""
        self.dismiss(self._text if self._text in self._offers else self.line.value)


def complete(typed: str, home: str, folder: str = "", *, only_directories: bool) -> tuple[str, list[str]]:
    """Return a typed path, completed as far as it is unambiguous, and the paths that can follow. Reads the disk.

    A relative path starts at `folder`, or at the home directory.
    """
    above, _, begin = typed.rpartition("/")
    directory = os.path.join(folder or home, expand_home(f"{above}/" if "/" in typed else "", home))
    try:
        with os.scandir(directory) as found:
            names = [
                f"{one.name}/" if one.is_dir() else one.name
                for one, _ in zip(found, range(MOST_NAMES), strict=False)
                if one.name.startswith(begin) and (begin or not one.name.startswith("."))
            ]
    except OSError:
        return typed, []
    names = sorted([name for name in names if name.endswith("/") or not only_directories])
    if not names:
        return typed, []
    # The names are sorted, so a beginning that the first and the last share is common to all.
    first, last = names[0], names[-1]
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return typed[: len(typed) - len(begin)] + first[:same], names
