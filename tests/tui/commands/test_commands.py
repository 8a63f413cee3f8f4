"""The one table of commands: every row works, is documented, and clashes with no other."""

from __future__ import annotations

from string import ascii_letters

import pytest

from sessionbrowse.model.search.query import FILTERS
from sessionbrowse.tui.clean.cleanup_screen import CleanupScreen
from sessionbrowse.tui.clean.doctor_screen import DoctorScreen
from sessionbrowse.tui.clean.redact_session import ReviewScreen
from sessionbrowse.tui.commands.command import (
    CLEANUP,
    CONTEXT_STACKS,
    DIALOG,
    DOCTOR,
    GROUPS,
    HELP,
    LIST,
    MOVE,
    OVERLAY,
    PREVIEW,
    PROJECTS,
    PROMPT,
    REVIEW,
    SEARCHING,
    SESSION,
    SESSIONS,
    STATS,
    TREE,
    TREE_LINE,
    TYPING,
    VIEW,
    WELCOME,
    WORKING,
    CommandContext,
    key_label,
    key_name,
)
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import ACTIONS, BY_ID, COMMANDS
from sessionbrowse.tui.dialogs.dialogs import LETTERS, AskScreen, PromptScreen
from sessionbrowse.tui.dialogs.help import SIGNS, ColumnsPart, HelpScreen, help_parts, legend
from sessionbrowse.tui.dialogs.palette import PaletteScreen
from sessionbrowse.tui.dialogs.text_window import ProgressScreen
from sessionbrowse.tui.dialogs.welcome import WelcomeScreen
from sessionbrowse.tui.handlers import EVERY_SCREEN, MODULES, function_of
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.paint.spans import GLYPHS, STATUS_SIGNS, line_width
from sessionbrowse.tui.search.sentences import EXAMPLES
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.stats.screen import StatsScreen
from tests.documentation.screen_pages import key_rows, letters

SCREENS: dict[str, tuple[type[CommandScreen], ...]] = {
    LIST: (BrowseScreen,),
    PROJECTS: (BrowseScreen,),
    SESSIONS: (BrowseScreen,),
    PREVIEW: (BrowseScreen,),
    SESSION: (SessionScreen,),
    TREE_LINE: (SessionScreen,),
    TREE: (SessionScreen,),
    VIEW: (SessionScreen,),
    OVERLAY: (HelpScreen, PaletteScreen),
    WELCOME: (WelcomeScreen,),
    TYPING: (BrowseScreen, PaletteScreen),
    SEARCHING: (BrowseScreen,),
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
    DoctorScreen: "doctor",
    CleanupScreen: "cleanup",
    ReviewScreen: "review",
    StatsScreen: "stats",
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_command_does_something_wherever_it_can_be_given(command) -> None:
    for place in command.where:
        for screen in SCREENS[place]:
            handler = function_of(NAMES.get(screen, ""), command.id)
            assert hasattr(screen, f"do_{command.id}") or handler is not None, (command.id, screen)


def test_every_handler_is_of_a_command_and_the_screen_itself_has_no_other() -> None:
    for screen, name in NAMES.items():
        for module in MODULES.get(name, EVERY_SCREEN):
            for command_id in [known[3:] for known in vars(module) if known.startswith("do_")]:
                assert command_id in BY_ID
                assert not hasattr(screen, f"do_{command_id}") or module in EVERY_SCREEN, (command_id, name)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_command_is_described_as_the_style_asks(command) -> None:
    assert 1 <= len(command.title.replace(",", "").split()) <= 2
    assert not command.help.endswith(".")
    assert command.group in GROUPS
    assert set(command.where) <= set(SCREENS)


def test_every_place_belongs_to_some_screen() -> None:
    assert {place for places in CONTEXT_STACKS for place in places} == set(SCREENS)


def test_no_screen_has_a_command_that_the_table_lacks() -> None:
    known = {command.id for command in COMMANDS}
    for screens in SCREENS.values():
        for screen in screens:
            assert {name[3:] for name in dir(screen) if name.startswith("do_")} <= known


def test_the_defaults_do_not_clash() -> None:
    assert Keys().clashes == ()


def test_a_key_means_the_nearest_command() -> None:
    keys = Keys()
    assert keys.find("left", (TREE, SESSION, "everywhere")).id == "fold"  # type: ignore[union-attr]
    assert keys.find("left", (PREVIEW, LIST, "everywhere")).id == "pane_left"  # type: ignore[union-attr]
    assert keys.find("f12", (TREE, SESSION, "everywhere")) is None


def test_the_users_keys_win_and_clashes_are_said() -> None:
    keys = Keys({"sort": "^r", "nonsense": "a", "help": "F9, h"})
    assert keys.find("ctrl+r", (SESSIONS, LIST)).id == "rename"  # type: ignore[union-attr]
    assert keys.find("ctrl+s", (SESSIONS, LIST)) is None
    assert keys.find("f9", ("everywhere",)).id == "help"  # type: ignore[union-attr]
    said = " ".join(keys.clashes)
    assert "'nonsense'" in said
    assert "^r means both" in said
    assert "h means both" in said


def test_a_users_key_in_the_same_place_takes_it_from_the_default() -> None:
    keys = Keys({"named": "ctrl+s"})
    assert keys.find("ctrl+s", (LIST,)).id == "named"  # type: ignore[union-attr]
    assert len(keys.clashes) == 1


def test_a_key_that_is_none_is_named_with_those_that_are() -> None:
    keys = Keys({"rename": "ctrl+shift+bogus", "theme": "hyper+x, f6"})
    assert keys.shown(BY_ID["rename"]) == "^r"
    assert keys.shown(BY_ID["theme"]) == "F6"
    (first, second) = keys.clashes
    assert first.startswith('Keys in the settings: "ctrl+shift+bogus" of rename is no key. Keys are letters, digits')
    assert "pageup" in first
    assert '"hyper+x" of theme' in second


@pytest.mark.parametrize("older", ["checkpoints", "stats", "doctor", "damage", "copy_menu", "restore", "mark_branch"])
def test_settings_may_use_the_former_names_of_commands(older: str) -> None:
    keys = Keys({older: "f12"})
    assert keys.clashes == ()
    assert [command.id for command in COMMANDS if keys.shown(command) == "F12"] != []


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


def test_the_table_of_keys_is_short() -> None:
    assert len(key_rows()) <= 60
    assert len(letters()) <= 14
    moving = set("hjklgG")
    in_list = {key for key in (*ascii_letters,) if Keys().find(key, (SESSIONS, LIST, "everywhere")) is not None}
    assert len(in_list - moving) <= 18


SEVERAL_VERBS = {"tab", "left", "right", "h", "l", "left_square_bracket", "right_square_bracket", "enter"}
"""The keys to which the design gives several verbs."""


def test_no_key_runs_two_verbs() -> None:
    verbs: dict[str, set[str]] = {}
    for command in COMMANDS:
        for key in command.keys:
            verbs.setdefault(key, set()).add(command.verb)
    assert {key: found for key, found in verbs.items() if len(found) > 1 and key not in SEVERAL_VERBS} == {}


TWO_KEYS = {"quit"}
"""Commands with a second key: Ctrl+C is the terminal's own key to leave a program."""


def test_no_verb_has_two_keys() -> None:
    moves = {command.id for command in COMMANDS if command.group == MOVE}
    for command in COMMANDS:
        if command.id not in moves | TWO_KEYS and not command.id.startswith("search_"):
            assert len(command.keys) <= 1, command.id


def test_the_letters_of_actions_and_of_answers_are_used_once() -> None:
    keys = Keys()
    shown = [command.letter or keys.shown(command) for command in map(BY_ID.get, ACTIONS) if command is not None]
    assert len(set(shown) - {"o"}) == len([key for key in shown if key != "o"])
    # The keys that work in every dialog are no letters of answers.
    everywhere = {key_label(key) for command in COMMANDS if "everywhere" in command.where for key in command.keys}
    assert everywhere.isdisjoint(LETTERS.values())
    assert everywhere.isdisjoint([command.letter for command in letters()])


def test_every_command_without_a_key_has_a_way() -> None:
    for command in COMMANDS:
        in_palette = set(command.where) & {
            place for stack in CONTEXT_STACKS if "everywhere" in stack for place in stack
        }
        assert command.keys or command.letter or in_palette, command.id


def test_help_shows_every_command_of_a_place_and_says_what_cannot_work() -> None:
    keys = Keys()
    places = (TREE, SESSION, "everywhere")
    shown = "\n".join([part.plain() for part in help_parts(keys, places, CommandContext(has_session=True))])
    for command in keys.at(places):
        assert (command.help in shown) == bool(command.keys or command.letter), command.id
    assert "[ ]" in shown or "] [" in shown
    assert "x c" in shown
    assert "Not now: This session has one branch only." in shown


def test_the_help_has_a_legend_of_all_signs() -> None:
    shown = "".join(SIGNS)
    signs = [*GLYPHS.values(), *[sign for sign, _ in STATUS_SIGNS.values()], *"⌥⚑⊞⊟↳✗↯●○★✓•▸▾⧉▒$∑░"]
    assert [sign for sign in signs if sign not in shown] == []
    assert len(legend(SIGNS, "pinned")) == 1


def test_the_help_names_every_filter_of_a_search() -> None:
    told = " ".join([f"{example} {finds}" for example, finds in EXAMPLES.items()])
    assert [key for key in FILTERS if f"{key}:" not in told] == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_the_help_is_cut(width: int) -> None:
    lines = [*legend(SIGNS), *legend(EXAMPLES)]
    shown = "".join([text for row in ColumnsPart(lines).rows(width) for text, _ in row])
    assert all(word in shown for line in lines for text, _ in line for word in text.split())
    assert all(line_width(row) <= width for row in ColumnsPart(lines).rows(width))
    for contexts in CONTEXT_STACKS:
        for part in help_parts(Keys(), contexts, CommandContext(has_rows=False)):
            shown = " ".join("".join([text for text, _ in row]) for row in part.rows(width))
            assert "…" not in shown.replace("model, project, …", "")


def test_a_sentence_names_the_way_to_a_command_without_a_key() -> None:
    keys = Keys()
    assert keys.key_of("rename") == "^r"
    assert keys.key_of("mend") == "x w"
    assert keys.key_of("archived") == '"Archived" in :'


def test_each_reason_is_a_sentence() -> None:
    nothing = CommandContext(has_rows=False, has_scopes=False)
    reasons = [reason for command in COMMANDS if (reason := command.unavailable(nothing)) is not None]
    assert len(reasons) > 8
    assert all(reason.endswith(".") for reason in reasons)
