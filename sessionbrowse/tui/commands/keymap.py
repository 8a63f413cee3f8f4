"""The keys of commands: defaults from the command table, changed by the settings. Clashing keys are reported.

Textual's own keymap hides clashes, so this module finds the command of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sessionbrowse.config import Habits
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import (
    CONTEXT_STACKS,
    EVERYWHERE,
    LIST,
    NAMED_KEYS,
    PREVIEW,
    PROJECTS,
    SESSION,
    SESSIONS,
    TREE,
    VIEW,
    Command,
    is_key,
    key_label,
    key_name,
    sign_of,
)
from sessionbrowse.tui.commands.table import BY_ID, COMMANDS


class Keys:
    """The commands, and the keys that run them: the keys in the user's settings, else the default keys."""

    def __init__(
        self,
        overrides: Mapping[str, str | Sequence[str]] | None = None,
        own: Sequence[Command] = (),
        habits: Habits = "default",
    ) -> None:
        """Set the keys from the settings (`overrides`, `habits`), and add the user's own commands (`own`)."""
        self.types = habits == "pi"
        """True if letter keys type into the filter line instead of running commands."""
        self.commands: tuple[Command, ...] = (*COMMANDS, *own)
        self.by_id = {command.id: command for command in self.commands}
        chosen: dict[str, tuple[str, ...]] = {}
        problems: list[str] = []
        for written, keys in (overrides or {}).items():
            command_id = OLDER_IDS.get(written, written)
            if command_id in BY_ID:
                names = _valid(keys.split(",") if isinstance(keys, str) else keys, written, problems)
                if names is not None:
                    chosen[command_id] = (*chosen.get(command_id, ()), *names)
            else:
                problems.append(f"Keys in the settings: there is no command named {written!r}.")
        chosen |= {command.id: _valid(command.keys, command.title, problems) or () for command in own}
        defaults = {command.id: pi_keys(command) if self.types else command.keys for command in COMMANDS}
        self._keys = defaults | chosen
        self._by_context: dict[str, dict[str, Command]] = {context: {} for stack in CONTEXT_STACKS for context in stack}
        clashes: list[str] = []
        # The user's own choices come first, so that they win over the defaults of other commands.
        for command in sorted(self.commands, key=lambda command: command.id not in chosen):
            for context in command.where:
                for key in self._keys[command.id]:
                    taken = self._by_context[context].setdefault(key, command)
                    if taken is not command:
                        clashes.append(_clash(key, taken, command, context))
        clashes += self._hidden(chosen)
        self.clashes: tuple[str, ...] = tuple(problems + list(dict.fromkeys(clashes)))

    def of(self, command: Command) -> tuple[str, ...]:
        """Return the keys of a command, as Textual names them (`ctrl+r`)."""
        return self._keys[command.id]

    def find(self, key: str, contexts: Iterable[str]) -> Command | None:
        """Return the command that a key runs in the first context that uses the key; None if no context uses it."""
        for context in contexts:
            command = self._by_context[context].get(key)
            if command is not None:
                return command
        return None

    def at(self, contexts: Sequence[str]) -> list[Command]:
        """Return the commands that work in the given contexts, in the order of the command table."""
        return [command for command in self.commands if any(context in contexts for context in command.where)]

    def shown(self, command: Command, contexts: Sequence[str] = (), *, all_keys: bool = False) -> str:
        """Return the label (`^r`) of a command's first key; with `all_keys`, the labels of all its keys.

        With `contexts`, keys that run another command in these contexts are left out.
        """
        own = self._keys[command.id]
        keys = [key_label(key) for key in own if not contexts or self.find(key, contexts) is command]
        return " ".join(keys) if all_keys else keys[0] if keys else ""

    def elsewhere(self, key: str, contexts: Sequence[str], panes: Mapping[str, tuple[str, str, str]]) -> str | None:
        """Return a sentence that says where a key works that does nothing here; None if it works in no other pane.

        `panes` is the screen's `ELSEWHERE`. The sentence names another pane in which the key works, or the actions
        menu.
        """
        place, words, go_there = panes.get(contexts[0], ("", "", ""))
        if place and (command := self.find(key, (place,))) is not None:
            return f"{command.title}: {words}; {self.key_of(go_there)} goes there."
        verb = next((each for each in self.commands if each.letter == key), None)
        if self.types or verb is None or BY_ID["actions"] not in self.at(contexts):
            return None
        return f"{verb.title} is in the actions menu: {self.key_of('actions')} {key}."

    def key_of(self, command_id: str) -> str:
        """Return the way to a command, for sentences: its first key (`^r`), its letter (`x w`), or the palette."""
        command = BY_ID[command_id]
        if shown := self.shown(command):
            return shown
        if command.letter:
            return f"{self.key_of('actions')} {command.letter}"
        return f'"{command.title}" in {self.shown(BY_ID["palette"]) or "the palette"}'

    def _hidden(self, chosen: Mapping[str, tuple[str, ...]]) -> list[str]:
        """Return warnings for keys from the settings that run two commands in contexts that are active together."""
        clashes: list[str] = []
        for contexts in CONTEXT_STACKS:
            nearest: dict[str, tuple[Command, str]] = {}
            for context in contexts:
                for key, command in self._by_context[context].items():
                    earlier, near = nearest.setdefault(key, (command, context))
                    if earlier is not command and (earlier.id in chosen or command.id in chosen):
                        clashes.append(_clash(key, earlier, command, near))
        return clashes


OLDER_IDS = {
    **dict.fromkeys(("doctor", "damage"), "problems"),
    "checkpoints": "labels",
    "stats": "cost",
    "copy_menu": "copy",
    "compare_leaf": "compare",
    "restore": "changes",
    "mark_branch": "select",
}
"""Former ids of commands, which the settings may still use, and the ids that replace them."""


def _valid(keys: Sequence[str], owner: str, problems: list[str]) -> tuple[str, ...] | None:
    """Return Textual's names of keys from the settings; None if each is invalid, which adds a sentence to `problems`.

    `owner` is the id or title of the command, for the sentence.
    """
    names = [key_name(key) for key in keys if key.strip()]
    valid = [name for name in names if is_key(name)]
    if len(valid) == len(names):
        return tuple(names)
    wrong = ", ".join([clean(name) for name in names if name not in valid])
    problems.append(
        f'Keys in the settings: "{wrong}" of {clean(owner)} is no key. Keys are letters, digits and signs, f1 to f24, '
        f"{', '.join(NAMED_KEYS)}; each may begin with ctrl+, alt+ or shift+."
    )
    return tuple(valid) or None


def _clash(key: str, taken: Command, command: Command, context: str) -> str:
    return f"{key_label(key)} means both {taken.title!r} and {command.title!r} in {context}; the first is used."


# ---- the setting `habits = "pi"`: letters type into the search, commands get Alt+letter or the keys of pi ----

_TYPED_IN = frozenset((EVERYWHERE, LIST, PROJECTS, SESSIONS, PREVIEW, SESSION, TREE, VIEW))
"""The contexts in which a letter key types into the search line instead of running a command."""

# No command gets Alt+B or Alt+F, because some terminals send these for Ctrl+← and Ctrl+→.
_OWN = {
    "browse": "alt+s",
    "fork": "alt+shift+c",
    "label": "L alt+m",
    "label_times": "T",
    "tree_page_up": "ctrl+b left",
    "tree_page_down": "ctrl+f right",
    "branch_left": "shift+left",
    "branch_right": "shift+right",
    "fold": "ctrl+left alt+left",
    "unfold": "ctrl+right alt+right",
    "go_in": "",
    "next_turn": "alt+down",
    "previous_turn": "alt+up",
    "filter_default": "ctrl+d alt+d",
    "filter_no_tools": "ctrl+t alt+t",
    "filter_user_only": "ctrl+u",
    "filter_labeled_only": "ctrl+l alt+l",
    "filter_all": "ctrl+a alt+a",
    "next_filter": "ctrl+o",
    "previous_filter": "ctrl+shift+o",
    "previous_view": "shift+tab",
    "compare": "alt+shift+d",
    "copy_text": "ctrl+x",
    "delete": "ctrl+d delete ctrl+backspace",
    "labels": "f3",
    "cost": "f4",
    "problems": "f9",
    "filter": "",
    "leaf": "f7",
    "select": "insert",
    "help": "f1",
    "palette": "ctrl+backslash",
}
"""By command id: keys as in pi and omp, and keys for commands whose default key types a mark into the search."""


def pi_keys(command: Command) -> tuple[str, ...]:
    """Return the keys of a command for the setting `habits = "pi"`.

    A letter becomes Alt+letter. A punctuation mark never gets Alt, because not every terminal sends Alt with a mark:
    `_OWN` gives the command another key, or the command has no key and is run from the palette.
    """
    if command.id in _OWN:
        return tuple(_OWN[command.id].split())
    if _TYPED_IN.isdisjoint(command.where):
        return command.keys
    return tuple([moved for key in command.keys if (moved := _with_alt(key))])


def _with_alt(key: str) -> str:
    if len(key) == 1:
        return f"alt+shift+{key.lower()}" if key.isupper() else f"alt+{key}"
    return "" if sign_of(key) else key
