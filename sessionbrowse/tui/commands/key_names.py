"""The names of keys: Textual's (`question_mark`), what people write (`?`), and the labels on the screen."""

from __future__ import annotations

import unicodedata

from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, key_to_character

_NAMES = {
    "enter": "⏎",
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "space": "space",
    "tab": "tab",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "backspace": "⌫",
    "delete": "Del",
}
NAMED_KEYS = sorted([*(name for name, label in _NAMES.items() if len(label) > 1 or not label.isascii()), "insert"])
"""Names of the keys that are no letters, digits or signs, as the settings name them."""
_MODIFIERS = {"ctrl": "^", "alt": "alt+", "shift": "shift+"}


def is_key(name: str) -> bool:
    """Return True if there is a key of this name, in Textual's spelling, such as `ctrl+r` or `question_mark`."""
    *modifiers, last = name.split("+")
    is_function = last[:1] == "f" and last[1:].isdigit() and 1 <= int(last[1:]) <= 24
    return set(modifiers) <= set(_MODIFIERS) and bool(last in NAMED_KEYS or is_function or sign_of(last))


def key_label(key: str) -> str:
    """Return the label of a key for screens and messages: `ctrl+r` → `^r`, `question_mark` → `?`."""
    *modifiers, name = key.split("+")
    if modifiers == ["alt", "shift"] and len(name) == 1:
        modifiers, name = ["alt"], name.upper()
    label = _NAMES.get(name) or sign_of(name) or (name.upper() if name[:1] == "f" and name[1:].isdigit() else name)
    return "".join([_MODIFIERS.get(modifier, f"{modifier}+") for modifier in modifiers]) + label


def sign_of(name: str) -> str:
    """Return the character of the key that Textual calls `name`: `number_sign` → `#`; "" for other keys."""
    sign = key_to_character(REPLACED_KEYS.get(name, name)) or ""
    return sign if sign.isprintable() else ""


def key_name(label: str) -> str:
    """Return Textual's name of a key that a person wrote: `?` → `question_mark`, `^r` → `ctrl+r`."""
    label = label.strip()
    if len(label) > 1 and label.startswith("^"):
        return "ctrl+" + key_name(label[1:].lower())
    if "+" in label[1:-1]:
        modifiers, _, name = label.rpartition("+")
        return f"{modifiers.lower()}+{key_name(name.lower())}"
    # A single letter keeps its case, because `G` is another key than `g`; longer key names are lower-case.
    if len(label) == 1:
        return label if label.isalnum() else _sign_name(label)
    return label.lower()


def _sign_name(sign: str) -> str:
    """Return Textual's name of the key for a punctuation mark: `#` → `number_sign`. Most are Unicode names."""
    name = unicodedata.name(sign, sign).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)
