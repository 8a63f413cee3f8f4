"""The command that exports a session: as HTML, Markdown, JSONL or JSON to a file, or as Markdown to the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.services.clean.redact import Review
from sessionbrowse.services.export.export import FORMATS, Format, export, export_redacted, export_to
from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.clean.redact_session import IsMasked, review_session
from sessionbrowse.tui.copying import copy_found
from sessionbrowse.tui.dialogs.dialogs import Choice, ask, paragraph
from sessionbrowse.tui.outside.viewer import open_file
from sessionbrowse.tui.shell.change_plan import ChangeRun, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

_TITLES = {
    "html": ("HTML page", "every branch, masked if wanted"),
    "markdown": ("Markdown", "active branch, masked if wanted"),
    "jsonl": ("JSONL, as pi exports", "active branch, masked if wanted"),
    "json": ("JSON", "every branch, masked if wanted"),
}
_ENDINGS = {"html": ".html", "markdown": ".md", "jsonl": ".jsonl", "json": ".json"}
_CLIPBOARD = "clipboard"
_MASKED = ", with secrets masked"
Pieces = Callable[[ChangeRun], Iterator[bytes]]


def do_export(screen: CommandScreen[None]) -> None:
    """Ask for the format, for the whole session or one path, and whether to mask secrets; then write the export."""
    summary = screen.subject
    if summary is None:
        return
    titles = {**_TITLES, _CLIPBOARD: ("Copy as Markdown", "to the clipboard, masked if wanted")}
    if RULES[summary.agent].only_read is not None:
        titles["jsonl"] = ("JSONL, its own lines", "the whole file, masked if wanted")
    keys = [*FORMATS, _CLIPBOARD]
    choices = [Choice(key, *titles[key], do=partial(_ask_how, screen, summary, key)) for key in keys]
    what = "the whole session or the path to this entry, " if screen.name == "session" else ""
    then = f"Next you choose {what}as it is or with secrets masked."
    parts = [*session_parts([summary], screen.browser.home), *paragraph([(then, "dim")])]
    ask(screen.browser, "Export", parts, choices)


def _ask_how(screen: CommandScreen[None], summary: Summary, key: str) -> None:
    form: Format = next((one for one in FORMATS if one == key), "markdown")
    write = _to_clipboard if key == _CLIPBOARD else partial(_to_file, ending=_ENDINGS.get(key, ""))
    home, target = screen.browser.home, screen.browser.changes.target(summary)

    def plain(at: str | None) -> None:
        write(screen, summary, lambda run: export(target.path, target.agent, form, at=at, home=home))

    def masked(at: str | None) -> None:
        def accepted(review: Review, is_masked: IsMasked) -> None:
            def pieces(run: ChangeRun) -> Iterator[bytes]:
                return export_redacted(target, form, review, is_masked, at=at, home=home, context=run.context)

            write(screen, summary, pieces, masked=True)

        review_session(screen, summary, accepted)

    # A second Enter takes the first choice, so the first one is the safe one, with secrets masked.
    choices = [
        Choice("masked", "Whole session, secrets masked after a review …", do=partial(masked, None)),
        Choice("plain", "As it is", do=partial(plain, None)),
    ]
    is_whole = form == "jsonl" and RULES[summary.agent].only_read is not None
    if screen.name == "session" and screen.entry_id is not None and not is_whole:
        at = screen.entry_id
        choices += [
            Choice("masked-at", "Only the path to this entry, with secrets masked …", do=partial(masked, at)),
            Choice("plain-at", "Only the path to this entry, unmasked", do=partial(plain, at)),
        ]
    parts = session_parts([summary], screen.browser.home)
    ask(screen.browser, f"Export as {_TITLES.get(key, ('Markdown',))[0]}", parts, choices)


def _to_clipboard(screen: CommandScreen[None], summary: Summary, pieces: Pieces, *, masked: bool = False) -> None:
    what = f"the session as Markdown{_MASKED if masked else ''}"
    copy_found(screen, lambda run: b"".join(_stoppable(pieces(run), run)).decode("utf-8", "replace"), what)


def _to_file(
    screen: CommandScreen[None], summary: Summary, pieces: Pieces, *, ending: str, masked: bool = False
) -> None:
    browser = screen.browser

    def write(to: str) -> None:
        def work(run: ChangeRun) -> str:
            export_to(to, _stoppable(pieces(run), run), summary.path)
            return to

        browser.changes.run(work, lambda path: _offer_to_open(screen, path, masked=masked))

    hint = "Type a new file; an existing file is never overwritten."
    ask_for_file(screen, summary, "Export to file", write, ending, hint)


def _offer_to_open(screen: CommandScreen[None], path: str, *, masked: bool) -> None:
    """Say where an export was written, and offer to open it or to copy its path."""
    browser = screen.browser
    shown = clean(shorten_home(path, browser.home))
    browser.say(f"Wrote {shown}{_MASKED if masked else ''}.")
    environ = browser.options.environ
    choices = [
        Choice("no", "Done"),
        Choice("open", "Open it", do=lambda: browser.changes.run(lambda run: open_file(path, environ), browser.say)),
        Choice("path", "Copy its path", do=lambda: copy_found(screen, lambda run: path, "the path of the export")),
    ]
    ask(browser, "Written", paragraph([(shown, "title")]), choices)


def _stoppable(pieces: Iterator[bytes], run: ChangeRun) -> Iterator[bytes]:
    """Yield the pieces of an export; if the user stops the export, raise `RefusedWrite`, so that no file is written."""
    for piece in pieces:
        if run.cancelled():
            raise RefusedWrite("Stopped; nothing was written.")
        yield piece
