"""The one table of commands: every row works, is documented, and clashes with no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.tui.clean.cleanup_screen import CleanupScreen
from sessionbrowse.tui.clean.doctor_screen import DoctorScreen
from sessionbrowse.tui.clean.review_screen import ReviewScreen
from sessionbrowse.tui.commands.command import GROUPS, CommandContext
from sessionbrowse.tui.commands.contexts import (
    CHECKPOINTS,
    CLEANUP,
    CONTEXT_NAMES,
    CONTEXT_STACKS,
    DIALOG,
    DOCTOR,
    FOUND,
    HELP,
    LIST,
    OVERLAY,
    PREVIEW,
    PROJECTS,
    PROMPT,
    RESULTS,
    RESULTS_VIEW,
    REVIEW,
    SEARCHING,
    SESSION,
    SESSIONS,
    STATS,
    TREE,
    TYPING,
    VIEW,
    WELCOME,
    WORKING,
)
from sessionbrowse.tui.commands.keymap import Keys, key_label, key_name
from sessionbrowse.tui.commands.table import BY_ID, COMMANDS
from sessionbrowse.tui.dialogs.dialogs import AskScreen, PromptScreen
from sessionbrowse.tui.dialogs.help import HelpScreen, help_parts
from sessionbrowse.tui.dialogs.palette import PaletteScreen
from sessionbrowse.tui.dialogs.progress import ProgressScreen
from sessionbrowse.tui.dialogs.welcome import WelcomeScreen
from sessionbrowse.tui.handlers import EVERY_SCREEN, MODULES, find_handler
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.search.checkpoints import CheckpointsScreen
from sessionbrowse.tui.search.screen import SearchScreen
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.stats.screen import StatsScreen
from tests.pictures.screenshots import key_table

README = Path(__file__).resolve().parents[3] / "README.md"

SCREENS: dict[str, tuple[type[CommandScreen], ...]] = {
    LIST: (BrowseScreen,),
    PROJECTS: (BrowseScreen,),
    SESSIONS: (BrowseScreen,),
    PREVIEW: (BrowseScreen,),
    SESSION: (SessionScreen,),
    TREE: (SessionScreen,),
    VIEW: (SessionScreen,),
    OVERLAY: (HelpScreen, PaletteScreen),
    WELCOME: (WelcomeScreen,),
    TYPING: (BrowseScreen, SessionScreen, PaletteScreen, CheckpointsScreen),
    SEARCHING: (SearchScreen,),
    RESULTS: (SearchScreen,),
    CHECKPOINTS: (CheckpointsScreen,),
    RESULTS_VIEW: (SearchScreen, CheckpointsScreen),
    FOUND: (SearchScreen, CheckpointsScreen),
    STATS: (StatsScreen,),
    DOCTOR: (DoctorScreen,),
    CLEANUP: (CleanupScreen,),
    REVIEW: (ReviewScreen,),
    HELP: (HelpScreen,),
    DIALOG: (AskScreen, PromptScreen),
    PROMPT: (PromptScreen,),
    WORKING: (ProgressScreen,),
    "everywhere": (
        BrowseScreen,
        SessionScreen,
        SearchScreen,
        CheckpointsScreen,
        StatsScreen,
        DoctorScreen,
        CleanupScreen,
        ReviewScreen,
        HelpScreen,
        PaletteScreen,
        WelcomeScreen,
        AskScreen,
        ProgressScreen,
    ),
}

NAMES: dict[type, str] = {
    BrowseScreen: "browse",
    SessionScreen: "session",
    SearchScreen: "search",
    CheckpointsScreen: "checkpoints",
    DoctorScreen: "doctor",
    CleanupScreen: "cleanup",
    ReviewScreen: "review",
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_command_does_something_wherever_it_can_be_given(command) -> None:
    for place in command.where:
        for screen in SCREENS[place]:
            handler = find_handler(NAMES.get(screen, ""), command.id)
            assert hasattr(screen, f"do_{command.id}") or handler is not None, (command.id, screen)


def test_every_handler_is_of_a_command_and_the_screen_itself_has_no_other() -> None:
    for screen, name in NAMES.items():
        for module in MODULES[name]:
            for command_id in [known[3:] for known in vars(module) if known.startswith("do_")]:
                assert command_id in BY_ID
                assert not hasattr(screen, f"do_{command_id}") or module in EVERY_SCREEN, (command_id, name)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_command_is_described_as_the_style_asks(command) -> None:
    assert command.keys
    assert 1 <= len(command.title.replace(",", "").split()) <= 2
    assert not command.help.endswith(".")
    assert command.group in GROUPS
    assert set(command.where) <= set(CONTEXT_NAMES)


def test_every_place_belongs_to_some_screen() -> None:
    assert {place for places in CONTEXT_STACKS for place in places} == set(CONTEXT_NAMES) == set(SCREENS)


def test_no_screen_has_a_command_that_the_table_lacks() -> None:
    known = {command.id for command in COMMANDS}
    for screens in SCREENS.values():
        for screen in screens:
            assert {name[3:] for name in dir(screen) if name.startswith("do_")} <= known


def test_the_defaults_do_not_clash() -> None:
    assert Keys().clashes == ()


def test_a_key_means_the_nearest_command() -> None:
    keys = Keys()
    assert keys.find("left", (TREE, SESSION, "everywhere")).id == "branch_left"  # type: ignore[union-attr]
    assert keys.find("left", (PREVIEW, LIST, "everywhere")).id == "pane_left"  # type: ignore[union-attr]
    assert keys.find("f12", (TREE, SESSION, "everywhere")) is None


def test_the_users_keys_win_and_clashes_are_said() -> None:
    keys = Keys({"sort": "^x", "nonsense": "a", "help": "F9, h"})
    assert keys.find("ctrl+x", (SESSIONS, LIST)).id == "copy"  # type: ignore[union-attr]
    assert keys.find("ctrl+s", (SESSIONS, LIST)) is None
    assert keys.find("f9", ("everywhere",)).id == "help"  # type: ignore[union-attr]
    said = " ".join(keys.clashes)
    assert "'nonsense'" in said
    assert "^x means both" in said
    assert "h means both" in said


def test_a_users_key_in_the_same_place_takes_it_from_the_default() -> None:
    keys = Keys({"named": "ctrl+s"})
    assert keys.find("ctrl+s", (LIST,)).id == "named"  # type: ignore[union-attr]
    assert len(keys.clashes) == 1


@pytest.mark.parametrize(
    ("written", "name", "label"),
    [
        ("?", "question_mark", "?"),
        ("^r", "ctrl+r", "^r"),
        ("Ctrl+R", "ctrl+r", "^r"),
        ("alt+/", "alt+slash", "alt+/"),
        ("F5", "f5", "F5"),
        ("Enter", "enter", "⏎"),
        ("+", "plus", "+"),
        ("'", "apostrophe", "'"),
        ("L", "L", "L"),
        ("#", "number_sign", "#"),
        ("@", "at", "@"),
        ("|", "vertical_line", "|"),
    ],
)
def test_keys_are_written_as_people_write_them(written: str, name: str, label: str) -> None:
    assert key_name(written) == name
    assert key_label(name) == label


def test_the_readme_has_the_table_as_it_is() -> None:
    text = README.read_text()
    begin, end = "<!-- keys -->", "<!-- /keys -->"
    assert begin in text
    assert text.split(begin)[1].split(end)[0].strip() == key_table().strip()


def test_help_shows_every_command_of_a_place_and_says_what_cannot_work() -> None:
    keys = Keys()
    places = (TREE, SESSION, "everywhere")
    shown = "\n".join([part.plain() for part in help_parts(keys, places, CommandContext(has_session=True))])
    for command in keys.at(places):
        assert command.help in shown
    assert "Not now: No entry of this session has a label." in shown


def test_each_reason_is_a_sentence() -> None:
    nothing = CommandContext(has_rows=False, has_folder=False)
    reasons = [reason for command in COMMANDS if (reason := command.unavailable(nothing)) is not None]
    assert len(reasons) > 8
    assert all(reason.endswith(".") for reason in reasons)
