"""What pi's and omp's own pickers and trees can do, each with its key here and the test that shows it.

The features are those of pi 1.5.2's `/resume` and `/tree` and of omp 18.2.3's. Where a key differs on purpose, the row
says why.
"""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct

from sessionbrowse.tui.commands.command import LIST, SESSION, SESSIONS, TREE, TYPING
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import BY_ID, WHILE_TYPING

TESTS = Path(__file__).resolve().parents[1]
IN_LISTS = (SESSIONS, LIST, "everywhere")
IN_TREE = (TREE, SESSION, "everywhere")
LETTERS = "letters are commands here, so a search begins with /"


WITHOUT_TYPING = ("slash", "full_stop", "r", "p", "c", "space")
"""Keys that type in `habits = "pi"`: there the feature is at hand as it is in pi, or has another key."""


class Habit(Struct, frozen=True):
    """A feature: whose, where, what; the agent's key and the command it gives here; the test; why a key differs."""

    agent: str
    places: tuple[str, ...]
    feature: str
    key: str
    command: str
    test: str
    differs: str = ""


def pick(agent: str, feature: str, key: str, command: str, test: str, differs: str = "") -> Habit:
    return Habit(agent, IN_LISTS, feature, key, command, test, differs)


def tree(agent: str, feature: str, key: str, command: str, test: str, differs: str = "") -> Habit:
    return Habit(agent, IN_TREE, feature, key, command, test, differs)


BRANCHES = "tui/session/test_branches"
BROWSE, SCREEN, CHANGES, PICKER = (
    "tui/lists/test_browse",
    "tui/session/test_session_screen",
    "tui/changes/test_changes",
    "model/listing/test_picker",
)
ROWS, TREES, OMP_TREES, TEXTS = (
    "tui/widgets/test_row_list",
    "model/tree/test_tree",
    "model/tree/test_tree_omp",
    "model/tree/test_row_text",
)

HABITS = (
    # ---- pi: /resume
    pick("pi", "type to search", "slash", "filter", f"{BROWSE}::test_typing_a_filter_narrows_the_list_and_escape_shows_all_again", LETTERS),
    pick("pi", "move", "up", "up", f"{ROWS}::test_moving_is_clamped_and_wraps_only_where_asked"),
    pick("pi", "move", "down", "down", f"{ROWS}::test_moving_is_clamped_and_wraps_only_where_asked"),
    pick("pi", "move by pages", "pageup", "page_up", f"{ROWS}::test_moving_is_clamped_and_wraps_only_where_asked"),
    pick("pi", "move by pages", "pagedown", "page_down", f"{ROWS}::test_moving_is_clamped_and_wraps_only_where_asked"),
    pick("pi", "open", "enter", "open", f"{BROWSE}::test_choosing_a_folder_shows_its_sessions_and_enter_goes_in", "Enter never starts a program: r resumes"),
    pick("pi", "close", "escape", "back", f"{BROWSE}::test_typing_a_filter_narrows_the_list_and_escape_shows_all_again"),
    pick("pi", "quit", "ctrl+c", "quit", f"{BROWSE}::test_leaving_while_sessions_are_being_read_does_not_wait"),
    pick("pi", "scope: this folder or all", "tab", "scope", f"{BROWSE}::test_tab_switches_between_this_folder_and_all"),
    pick("pi", "sort: threaded, recent, relevance", "ctrl+s", "sort", f"{BROWSE}::test_ctrl_s_goes_through_the_orders_and_threads_hang_forks_on_their_parent"),
    pick("pi", "named only", "ctrl+n", "named", f"{BROWSE}::test_ctrl_n_shows_named_sessions_only"),
    pick("pi", "show paths", "ctrl+p", "path", f"{BROWSE}::test_ctrl_p_shows_the_paths_of_the_files"),
    pick("pi", "rename", "ctrl+r", "rename", f"{CHANGES}::test_rename_from_the_list_appends_the_name_shows_it_and_u_takes_it_back"),
    pick("pi", "delete, asked first", "ctrl+d", "delete", f"{CHANGES}::test_delete_asks_naming_size_children_and_companions_and_restore_brings_it_back"),
    pick("pi", "delete without a query", "ctrl+backspace", "delete", f"{CHANGES}::test_delete_asks_naming_size_children_and_companions_and_restore_brings_it_back"),
    pick("pi", "words, all wanted, in any field", "slash", "filter", "tui/data/test_library::test_letters_in_order_are_found_in_names_and_directories_best_first"),
    pick("pi", '"phrases"; unbalanced quotes', "slash", "filter", "tui/search/test_list_search::test_what_is_not_yet_complete_waits_quietly_with_what_was_found"),
    pick("pi", "re:pattern", "slash", "filter", "tui/search/test_list_search::test_an_error_is_said_once_at_the_line_and_what_was_found_stays"),
    pick("pi", "fuzzy score", "slash", "filter", f"{PICKER}::test_the_score_of_letters_is_pis"),
    pick("pi", "order with a query", "ctrl+s", "sort", "tui/search/test_list_search::test_one_key_changes_the_order_and_the_next_start_has_it_still", "best first by the ranking of the search, which also reads the texts; letters in order come last"),
    pick("pi", "threads: newest first, children below", "ctrl+s", "sort", f"{PICKER}::test_children_stand_below_their_parent_and_the_thread_with_the_newest_member_first"),
    pick("pi", "ages", "f5", "reload", "test_text::test_ages_are_those_of_pi"),
    pick("pi", "nothing found", "slash", "filter", "tui/search/test_list_search::test_what_was_found_nowhere_is_named_with_what_to_try"),
    pick("pi", "session is gone: where to continue", "alt+r", "resume", "tui/resume/test_resuming::test_where_the_directory_is_gone_another_one_can_be_chosen"),
    # ---- omp: its picker
    pick("omp", "delete", "delete", "delete", f"{CHANGES}::test_delete_asks_naming_size_children_and_companions_and_restore_brings_it_back"),
    pick("omp", "pinned first", "alt+p", "pin", "tui/lists/test_sort_and_scope::test_a_pin_of_omp_is_shown_and_left_to_omp"),
    pick("omp", "fork mark", "f5", "reload", f"{BROWSE}::test_a_row_shows_agent_age_messages_and_signs"),
    pick("omp", "mouse: wheel", "f5", "reload", f"{ROWS}::test_the_wheel_scrolls_without_moving_the_cursor", "the wheel scrolls"),
    pick("omp", "mouse: click", "f5", "reload", f"{ROWS}::test_a_click_moves_the_cursor_and_only_a_double_click_goes_in", "never opens by accident"),
    # ---- pi: /tree
    tree("pi", "active path first, opens on the leaf", "full_stop", "leaf", f"{SCREEN}::test_the_tree_opens_on_the_leaf_with_the_active_branch_first"),
    tree("pi", "wrap around", "up", "up", f"{SCREEN}::test_arrows_wrap_around_the_tree_as_in_pi"),
    tree("pi", "wrap around", "down", "down", f"{SCREEN}::test_arrows_wrap_around_the_tree_as_in_pi"),
    tree("omp", "go to the branch beside", "shift+left", "branch_left", f"{BRANCHES}::test_the_branch_beside_is_gone_to"),
    tree("omp", "go to the branch beside", "shift+right", "branch_right", f"{BRANCHES}::test_the_branch_beside_is_gone_to"),
    tree("pi", "page", "ctrl+b", "tree_page_up", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "page", "ctrl+f", "tree_page_down", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "fold or jump up", "ctrl+left", "fold", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "fold or jump up", "alt+left", "fold", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "unfold or jump down", "ctrl+right", "unfold", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "unfold or jump down", "alt+right", "unfold", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("pi", "only branch points and roots fold", "ctrl+left", "fold", f"{TREES}::test_only_roots_and_rows_with_siblings_that_have_something_below_can_be_folded"),
    tree("pi", "label", "L", "label", f"{CHANGES}::test_a_label_is_set_changed_and_taken_away_in_the_tree"),
    tree("pi", "label times", "T", "label_times", f"{SCREEN}::test_labels_stand_beside_their_entries_and_their_times_on_request"),
    tree("pi", "copy the text", "ctrl+x", "copy_text", f"{SCREEN}::test_copying_takes_the_text_of_the_entry"),
    tree("pi", "go there", "enter", "open", f"{CHANGES}::test_check_out_of_what_the_user_said_resumes_before_it_and_hands_the_text_over", "Enter reads the entry"),
    tree("pi", "search", "slash", "filter", f"{TREES}::test_a_search_wants_all_words_of_what_pi_searches", LETTERS),
    tree("pi", "what is searched", "slash", "filter", f"{TEXTS}::test_the_search_looks_at_role_and_the_beginning_of_the_text", LETTERS),
    tree("pi", "escape clears, then closes", "escape", "back", f"{SCREEN}::test_enter_goes_to_the_entry_and_escape_back_to_tree_and_list"),
    tree("pi", "usual rows", "ctrl+d", "filter_default", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "no tools", "ctrl+t", "filter_no_tools", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "user only", "ctrl+u", "filter_user_only", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "labelled only", "ctrl+l", "filter_labeled_only", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "all", "ctrl+a", "filter_all", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "a choice is a toggle", "ctrl+t", "filter_no_tools", f"{SCREEN}::test_choosing_the_same_rows_again_goes_back_to_the_usual_ones"),
    tree("pi", "next choice", "ctrl+o", "next_filter", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "choice before", "ctrl+shift+o", "previous_filter", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("pi", "what each choice shows", "ctrl+d", "filter_default", f"{TREES}::test_each_filter_shows_what_pi_shows"),
    tree("pi", "hidden entries are bridged", "ctrl+d", "filter_default", f"{TREES}::test_children_of_hidden_entries_hang_on_the_nearest_visible_one"),
    tree("pi", "row texts", "ctrl+d", "filter_default", f"{TEXTS}::test_every_other_entry_shows_what_it_is_about"),
    tree("pi", "calls in place of results", "ctrl+d", "filter_default", f"{TEXTS}::test_a_tool_result_shows_the_call_it_answers"),
    tree("pi", "deep rows move sideways", "down", "down", f"{SCREEN}::test_deep_branches_scroll_sideways_so_that_the_text_can_be_read"),
    # ---- omp: its tree
    tree("omp", "next turn", "alt+down", "next_turn", f"{SCREEN}::test_moving_by_turns_branches_and_to_the_leaf"),
    tree("omp", "turn before", "alt+up", "previous_turn", f"{SCREEN}::test_moving_by_turns_branches_and_to_the_leaf"),
    tree("omp", "ends", "home", "first", f"{SCREEN}::test_fold_keys_jump_where_there_is_nothing_to_fold"),
    tree("omp", "ends", "end", "last", f"{SCREEN}::test_arrows_wrap_around_the_tree_as_in_pi"),
    tree("omp", "usual rows", "alt+d", "filter_default", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("omp", "no tools", "alt+t", "filter_no_tools", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("omp", "user only", "ctrl+u", "filter_user_only", f"{SCREEN}::test_the_five_choices_of_rows", "alt+u undoes"),
    tree("omp", "labelled only", "alt+l", "filter_labeled_only", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("omp", "all", "alt+a", "filter_all", f"{SCREEN}::test_the_five_choices_of_rows"),
    tree("omp", "forgiving search", "slash", "filter", f"{OMP_TREES}::test_the_search_is_forgiving", LETTERS),
    tree("omp", "own indentation", "down", "down", f"{OMP_TREES}::test_a_chain_below_a_branch_stays_in_its_column"),
    tree("omp", "own bookkeeping", "ctrl+d", "filter_default", f"{OMP_TREES}::test_bookkeeping_is_hidden_by_default_and_foreign_types_are_not"),
    tree("omp", "cursor goes to a visible row above", "ctrl+d", "filter_default", f"{SCREEN}::test_the_cursor_goes_to_the_nearest_row_above_when_its_own_is_hidden"),
)  # fmt: skip


@cache
def known_tests(module: str) -> frozenset[str]:
    nodes = ast.walk(ast.parse((TESTS / f"{module}.py").read_text()))
    return frozenset([node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)])


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: f"{habit.agent}: {habit.feature} ({habit.key})")
def test_every_habit_has_its_key_and_a_test(habit: Habit) -> None:
    # `habits = "pi"` has the keys of the agents; the default habits have one key for a verb, and letters that run it.
    bound = (Keys(habits="pi"), Keys()) if habit.key in WITHOUT_TYPING else (Keys(habits="pi"),)
    found = [command.id for keys in bound if (command := keys.find(habit.key, habit.places)) is not None]
    assert habit.command in found
    module, _, test = habit.test.partition("::")
    assert test in known_tests(module)


def test_keys_that_differ_from_the_agents_say_why() -> None:
    assert {habit.command for habit in HABITS if habit.differs} == {
        "filter",
        "open",
        "filter_user_only",
        "reload",
        "sort",
    }
    assert all(BY_ID[habit.command].help for habit in HABITS)


def test_what_works_while_the_picker_is_typed_in_works_while_a_filter_is_typed() -> None:
    # pi's picker has no other state than typing.
    for key in ("tab", "ctrl+s", "ctrl+n", "ctrl+p", "ctrl+r", "up", "down", "pageup", "pagedown", "ctrl+c"):
        found = Keys().find(key, (TYPING, SESSIONS, LIST, "everywhere"))
        assert found is not None
        assert found.id in WHILE_TYPING, key
