"""The commands that undo the last change, or take back a change or a deleted session chosen from a list."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse import text
from sessionbrowse.errors import CannotUndo, SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.change.delete import restorable
from sessionbrowse.services.change.restore import Restored, restore
from sessionbrowse.services.transaction.change import recover_interrupted
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.services.undo import Undoable, Undone, undo, undoable
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.journal import Change
from sessionbrowse.text import clean, parse_time, plural
from sessionbrowse.tui.changes.change_runner import listed_in, paths_of
from sessionbrowse.tui.dialogs.dialogs import CANCEL, AskScreen, Choice, ask, paragraph
from sessionbrowse.tui.paint.spans import GLYPHS, named, one_line, quoted
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import MOST_OPENED, ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList

MOST_CHANGES = 500
"""Maximum number of changes in the undo list, newest first."""

LARGEST_BYTES = 8 * 1024 * 1024
_TITLE_CHARACTERS = 60
MOST_IN_WORDS = 30
"""Number of newest changes whose sessions are opened for the texts of their entries."""

_TRASH = "trash"
"""The verb of a row of the undo list that stands for a deleted session, which can be restored by itself."""
_TOLD_BY_SUMMARY = ("rename", "label", "checkout")
"""Kinds of changes whose row in the undo list ends with a summary of the change, such as the new name."""

_DONE = {
    "rename": "Undid the rename of",
    "label": "Undid the label of",
    "checkout": "Undid the checkout of",
    "fork": "Removed the fork",
    "redact": "Removed the masked copy",
    "delete": "Restored",
    "archive": "Unarchived",
    "unarchive": "Archived",
    "relocate": "Moved back",
    "convert": "Took back the conversion to",
}


def do_undo(screen: CommandScreen[None]) -> None:
    """Undo the last change; ask first if another run made it, or if the changed sessions are not on the screen."""
    browser = screen.browser

    def take_or_ask(last: LastChange | None) -> None:
        if last is None:
            _take_back(screen, None)
        elif last.remark:
            _ask(screen, last, last.remark)
        elif not _is_on_screen(screen, last):
            _ask(screen, last, "It is not on the screen.")
        else:
            _take_back(screen, last.row)

    browser.changes.run(lambda run: read_last(run, browser), take_or_ask)


def _is_on_screen(screen: CommandScreen[None], last: LastChange) -> bool:
    """Return True if the screen shows each session of a change, or if they left its lists when the change was made."""
    own: set[Hashable] = {screen.place} if screen.name == "session" else set()
    lists = list(screen.query(RowList))
    if all(not paths.isdisjoint(own | _within([rows.visible_keys for rows in lists])) for paths in last.paths):
        return True
    listed = _within([rows.keys for rows in lists])
    was_here = screen.browser.changes.places.get(last.row.change.undo_id) == screen.place
    return was_here and all(paths.isdisjoint(listed) for paths in last.paths)


def _within(lists: Iterable[Iterable[Hashable]]) -> set[Hashable]:
    """Return the keys in lists, and the parts of those that are tuples, such as the path in a problem's key."""
    return {part for keys in lists for key in keys for part in (key if isinstance(key, tuple) else (key,))}


def _ask(screen: CommandScreen[None], last: LastChange, remark: str) -> None:
    browser = screen.browser
    (row,) = choices_of([last.row], browser.now_ms())
    made = f"Made {row.right}{'' if row.right == 'now' else ' ago'}. " if row.right else ""
    parts = paragraph([(row.text, "title")], [(f"{made}{remark}", "")])
    go = Choice("go", "Undo", do=lambda: _take_back(screen, last.row))
    other = Choice("list", "Choose another change", do=lambda: do_changes(screen))
    ask(browser, "Undo change?", parts, [go, other, CANCEL])


def do_changes(screen: CommandScreen[None]) -> None:
    """List what can be taken back, changes and deleted sessions, and take back what the user chooses."""
    browser = screen.browser

    def show(rows: list[UndoRow]) -> None:
        choices = choices_of(rows, browser.now_ms())
        by_id = {row.change.undo_id: row for row in rows}
        empty = "There is no change to undo, and no session in the trash that sessionbrowse deleted."

        def answered(key: str | None) -> None:
            if key is not None:
                (_restore if by_id[key].change.verb == _TRASH else _take_back)(screen, by_id[key])

        browser.push_screen(AskScreen("Undo and trash", [], choices, empty=empty), answered)

    browser.changes.run(lambda run: read_all(run, browser), show)


def _restore(screen: CommandScreen[None], row: UndoRow) -> None:
    def make(run: ChangeRun) -> Restored:
        return restore(row.change.undo_id, context=run.context)

    def then(done: Sequence[Restored]) -> None:
        screen.reveal(done[0].path)

    items, said = [ChangeItem("", make)], f"Restored {quoted(row.title)}."
    screen.browser.changes.make(ChangePlan(title="Restoring", items=items, describe=lambda done: said, on_success=then))


def _take_back(screen: CommandScreen[None], row: UndoRow | None) -> None:
    """Undo the change in a row of the undo list; without a row (None), undo the last change."""
    browser = screen.browser
    change_id, title = (row.change.undo_id, row.title) if row is not None else (None, "")
    other = browser.keys.key_of("changes")
    before = browser.library.all()

    def make(run: ChangeRun) -> Undone:
        try:
            return undo(change_id, force=run.force, context=run.context, progress=run.progress, cancelled=run.cancelled)
        except CannotUndo as error:
            if error.earlier_id is None:
                raise
            raise CannotUndo(f"{error.sentence} To undo another change: {other}.", error.earlier_id) from error

    def say(done: Sequence[Undone]) -> str:
        return describe(done[0], other, [*browser.library.all(), *before], title)

    def then(done: Sequence[Undone]) -> None:
        if screen.name == "browse":
            # Until the scan that follows, the list of projects has a row for the new directory only.
            moved = done[0].paths if done[0].verb == "relocate" else ()
            screen.reveal(("project", moved[0]) if moved else done[0].path)

    items = [ChangeItem("", make)]
    browser.changes.make(ChangePlan(title="Undoing", items=items, describe=say, on_success=then))


class UndoRow(Struct, frozen=True):
    """A row of the undo list, and the title of its session ("" if several sessions were changed)."""

    change: Undoable
    title: str


class LastChange(Struct, frozen=True):
    """The last change that can be undone, and the paths of each session of it, before and after the change.

    `remark` is the reason to ask before the undo; "" if there is none.
    """

    row: UndoRow
    remark: str
    paths: tuple[frozenset[str], ...] = ()


def read_last(run: ChangeRun, browser: Browser) -> LastChange | None:
    """Return the last change that can be undone; None if there is none. For background threads."""
    rows, listed = read_changes(run, browser, most=1), listed_in(browser)
    if not rows:
        return None
    journal, undo_id = run.context.journal, rows[0].change.undo_id
    remarks = []
    changes = [change for change in journal.changes().values() if undo_id in (change.id, change.group)]
    if not all(journal.was_begun_here(change) for change in changes):
        remarks.append("Another run of sessionbrowse made this change.")
    # A relocation's paths are project directories, not session files, so the browser cannot list them as sessions.
    sessions = [change for change in changes if change.verb != "relocate"]
    if not all(any(listed.at(path) is not None for path in paths_of(change)) for change in sessions):
        remarks.append("The browser does not list the changed session.")
    paths = [frozenset([listed.at(path) or path for path in paths_of(change)]) for change in changes]
    return LastChange(rows[0], " ".join(remarks), tuple(paths))


def read_changes(run: ChangeRun, browser: Browser, most: int = MOST_CHANGES) -> list[UndoRow]:
    """Return the changes that can be undone, newest first, at most `most`. For background threads."""
    recover_interrupted(run.context)
    rows, known = undoable(run.context)[:most], browser.library.get
    changes = run.context.journal.changes()
    return [
        UndoRow(
            in_words(row, browser) if number < MOST_IN_WORDS else row,
            title_of(changes[row.undo_id], known, opens=number < MOST_OPENED) if row.count == 1 else "",
        )
        for number, row in enumerate(rows)
    ]


def in_words(change: Undoable, browser: Browser) -> Undoable:
    """Return a change of an entry with the entry's text instead of its id. For background threads."""
    if change.verb not in ("label", "checkout"):
        return change
    try:
        if os.path.getsize(change.path) > LARGEST_BYTES:
            return change
        session = browser.open_session(change.path, change.agent)
    except (OSError, SessionBrowseError):
        return change

    def text_of(found: re.Match[str]) -> str:
        index = session.index_by_id.get(found[0])
        if index is None:
            return found[0]
        # The text is short and has no author, so that the label after it is visible on a narrow screen too.
        said = row_text(session, index, browser.home).removeprefix("user: ").removeprefix("assistant: ")
        return quoted(one_line(said, 16))

    return replace(change, summary=re.sub(r"[\w-]+", text_of, change.summary))


def title_of(change: Change, known: Callable[[str], Summary | None], *, opens: bool) -> str:
    """Return the title of the session that a change touched; without a title, the file name.

    With `opens`, the file of a session that is not listed is opened for the title.
    """
    # A later change may have moved the file back, as unarchiving does, or the undo of an archiving.
    found = next(filter(None, map(known, (change.path, *sorted(paths_of(change))))), None)
    if found is None and opens:
        path = _where(change)
        try:
            found = summarise_path(path, lambda _: change.agent) if os.path.getsize(path) <= LARGEST_BYTES else None
        except (OSError, SessionBrowseError):
            found = None
    title = one_line(found.title, _TITLE_CHARACTERS) if found is not None else ""
    return title or clean(os.path.basename(change.path))


def _where(change: Change) -> str:
    """Return the current path of the session that a change touched; a deleted session may be in the trash."""
    if change.verb == "delete" and not os.path.lexists(change.path):
        items = items_of(change)
        if items and items[-1].item is not None:
            return items[-1].item
    return change.path


def read_all(run: ChangeRun, browser: Browser) -> list[UndoRow]:
    """Return the changes that can be undone and the deleted sessions that can be restored, newest first."""
    trash = [
        UndoRow(
            Undoable(
                undo_id=one.id, time=one.time, verb=_TRASH, agent=one.agent, path=one.path, summary="", group=one.group
            ),
            title_of(one, browser.library.get, opens=number < MOST_OPENED),
        )
        for number, one in enumerate(restorable(run.context))
    ]
    single = {row.change.undo_id for row in trash}
    rows = [row for row in read_changes(run, browser) if row.change.undo_id not in single]
    return sorted([*rows, *trash], key=lambda row: row.change.time, reverse=True)


def describe(undone: Undone, other: str, everything: Sequence[Summary], title: str = "") -> str:
    """Return the toast after an undo.

    The toast names the session by its title from `everything` (the listed sessions), else by `title`.
    """
    of = plural(len(undone.paths), "session")
    if len(undone.paths) == 1:
        # The undo may have moved the file, so the session is looked up by its file name, which stays the same.
        name = os.path.basename(undone.paths[0])
        found = next((one for one in everything if os.path.basename(one.path) == name), None)
        of = quoted(named(found) if found is not None else title) if found is not None or title else one_line(name, 80)
    sentence = f"{_DONE.get(undone.verb, f'Undid the {undone.verb} of')} {of}."
    if undone.left:
        sentence += f" Stopped; not undone yet: {plural(len(undone.left), 'session')}. Undo again to continue."
    if not undone.failed:
        return sentence
    return f"{sentence} Not undone: {' '.join(undone.failed[:3])} {other} lists what is left."


def choices_of(rows: Sequence[UndoRow], now_ms: float) -> list[Choice]:
    """Return the rows of the undo list: one row for each command, even if it changed several sessions."""
    choices: list[Choice] = []
    for row in rows:
        change = row.change
        glyph = GLYPHS.get(change.agent, "·")
        what = f"{glyph} {row.title}" if row.title else plural(change.count, "session")
        if row.title and change.verb in _TOLD_BY_SUMMARY:
            what = f"{what}  {one_line(change.summary, 80)}"
        moment = parse_time(change.time)
        age = text.age(moment, now_ms) if moment is not None else ""
        choices.append(Choice(change.undo_id, f"{change.verb}  {what}", age))
    return choices
