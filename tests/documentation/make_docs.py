"""Make the pages of `docs/` that the program itself can tell: commands, screens, settings, library, man page."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import sessionbrowse
from sessionbrowse.config import example
from sessionbrowse.model.clean.damage import KINDS
from tests.documentation.command_pages import man_page, markdown, read_commands
from tests.documentation.screen_pages import keys, screens

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages() -> dict[Path, str]:
    """Return every page that is made, with its content."""
    commands = read_commands()
    return {
        DOCS / "commands.md": markdown(commands),
        DOCS / "sessionbrowse.1": man_page(commands),
        DOCS / "settings.md": _settings(),
        DOCS / "library.md": _library(),
        DOCS / "damage.md": _damage(),
        DOCS / "screens.md": screens(),
        DOCS / "keys.md": keys(),
    }


def main() -> None:
    """Write the pages."""
    DOCS.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


def _settings() -> str:
    return (
        "# Settings\n\nAll settings, with their values if you set nothing. Made by `make docs` from "
        f"`sessionbrowse config --example`.\n\n```toml\n{example().strip()}\n```\n"
    )


def _library() -> str:
    lines = [
        "# The Python library",
        "",
        "The format's own `SessionManager`, and the functions around it; made from their docstrings by `make docs`.",
        'Entries and messages are dicts with the file\'s keys. `agent=` chooses the program whose rules hold: `"pi"`,',
        '`"omp"`, `"atomic"` or `"indusagi"`. Every error is a `SessionBrowseError`, or a `ValueError` or `TypeError`',
        "that names the argument. Reading never writes; every change goes through the safe writer.",
        "",
        "## SessionManager",
        "",
    ]
    manager = sessionbrowse.SessionManager
    for name in sorted(dir(manager)):
        if not name.startswith("_"):
            lines += _member(f"SessionManager.{name}", inspect.getattr_static(manager, name), getattr(manager, name))
    lines += ["## Functions and values", ""]
    for name in sorted(sessionbrowse.__all__):
        value = getattr(sessionbrowse, name)
        if inspect.isfunction(value):
            lines += _member(name, value, value)
        elif inspect.isclass(value) and value is not manager:
            fields = ", ".join(f"`{field}`" for field in getattr(value, "__struct_fields__", ()))
            lines += [f"### {name}", "", _first_paragraphs(value), "", *([f"Fields: {fields}.", ""] if fields else [])]
    return "\n".join(lines)


def _member(name: str, static: object, value: Callable[..., object]) -> list[str]:
    if isinstance(static, property):
        return [f"### {name}", "", _first_paragraphs(static), ""]
    parameters = [p for p in inspect.signature(value).parameters.values() if p.name not in ("self", "environment")]
    shown: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        is_needed = parameter.default is parameter.empty
        shown.append(parameter.name if is_needed else f"{parameter.name}={_default(parameter.default)}")
    return [f"### {name}({', '.join(shown)})", "", _first_paragraphs(value), ""]


def _default(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float | bool | None) else "…"


def _first_paragraphs(value: object) -> str:
    """Return the docstring, with the errors as a list."""
    text = inspect.getdoc(value) or ""
    body, _, errors = text.partition("\nRaises:\n")
    if not errors:
        return body.strip()
    raised: list[str] = []
    for line in errors.rstrip().splitlines():
        error, colon, why = line.strip().partition(": ")
        if colon and error.isidentifier():
            raised.append(f"- `{error}`: {why}")
        elif raised:
            raised[-1] += " " + line.strip()
    return body.strip() + "\n\nErrors:\n\n" + "\n".join(raised)


def _damage() -> str:
    lines = [
        "# Kinds of damage",
        "",
        "The closed list of what `sessionbrowse doctor` reports, and `kind` in its JSON; made by `make docs`.",
        "",
        "| kind | the agent … | can be done |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {kind.agent_does} | {', '.join(kind.can_do) or 'nothing'} |" for name, kind in KINDS.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
