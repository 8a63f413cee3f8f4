"""The commands, read from the parser, as a Markdown page and as a man page.

The parser is the one source of `--help`, the Markdown page and the man page. The texts are made from its actions, not
from its formatted help, whose form changes from one Python to the next.
"""

from __future__ import annotations

import argparse

from msgspec import Struct

from sessionbrowse.cli.parser import MODULE_OF_COMMAND, Parser, examples, make_parser


class Argument(Struct, frozen=True):
    """An argument or option: how it is written, and what it does."""

    written: str
    text: str


class CommandPage(Struct, frozen=True, kw_only=True):
    """A command: how it is written, what it does, its arguments and options, and examples with a comment each."""

    usage: str
    text: str
    arguments: tuple[Argument, ...]
    examples: str


def read_commands() -> dict[str, CommandPage]:
    """Return every command in the order of the help; "" is the command line without a command."""
    main = make_parser()
    commands = next(action for action in main._actions if isinstance(action, argparse._SubParsersAction))
    assert set(commands.choices) >= set(MODULE_OF_COMMAND)
    assert isinstance(main, Parser)
    pages = {"": _page(main, hide=True)}
    shown = {choice.dest for choice in commands._choices_actions if choice.help != argparse.SUPPRESS}
    return pages | {name: _page(parser) for name, parser in commands.choices.items() if name in shown}


def markdown(commands: dict[str, CommandPage]) -> str:
    """Return the page `docs/commands.md`."""
    lines = [
        "# Commands",
        "",
        "Made from the command line's own help by `make docs`. `REF` is a session file's path, an id, `latest`, an",
        "exact name, or a unique prefix of an id; `ENTRY` an entry's id, a unique prefix of one, or an exact label.",
        "",
    ]
    for name, page in commands.items():
        lines += [f"## {name or 'without a command'}", "", page.text, "", "```", page.usage, "```", ""]
        if page.arguments:
            lines += ["| argument | does |", "|---|---|"]
            lines += [f"| `{a.written.replace('|', chr(92) + '|')}` | {a.text} |" for a in page.arguments] + [""]
        if page.examples:
            lines += ["```sh", page.examples, "```", ""]
    return "\n".join(lines)


def man_page(commands: dict[str, CommandPage]) -> str:
    """Return the man page `sessionbrowse(1)` in roff."""
    whole = commands[""]
    out = [
        '.TH SESSIONBROWSE 1 "" "sessionbrowse" "User Commands"',
        ".SH NAME",
        r"sessionbrowse \- browse, search and resume the sessions of pi, omp, atomic, indusagi, Claude Code and Codex",
        ".SH SYNOPSIS",
        f".B {_roff(whole.usage)}",
        ".SH DESCRIPTION",
        _roff(whole.text),
        ".SH OPTIONS",
        *_man_arguments(whole),
        ".SH COMMANDS",
    ]
    for name, page in commands.items():
        if not name:
            continue
        out += [f".SS {name}", _roff(page.text), ".PP", f".B {_roff(page.usage)}", *_man_arguments(page)]
        if page.examples:
            out += [".PP", "Examples:", ".PP", ".nf", ".RS", *map(_roff, page.examples.splitlines()), ".RE", ".fi"]
    out += [
        ".SH EXIT STATUS",
        "0 for success, 1 for a failure, 2 for wrong usage, 130 when interrupted.",
        "The command resume returns the agent's own status.",
        ".SH FILES",
        ".TP",
        r"~/.config/sessionbrowse/config.toml",
        "The settings; sessionbrowse config \\-\\-example prints all of them.",
    ]
    return "\n".join(out) + "\n"


def _page(parser: Parser, *, hide: bool = False) -> CommandPage:
    shown = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
    ]
    # The command's own arguments first, in the order of the source; what all commands share is last.
    shown.sort(key=lambda action: (bool(action.option_strings), action.dest in ("agents", "roots", "json")))
    usage = " ".join([parser.prog, *_usage(parser, shown), *(["[COMMAND …]"] if hide else [])])
    arguments = tuple(Argument(_written(action), _sentence(action)) for action in shown)
    return CommandPage(
        usage=usage,
        text=(parser.description or "").strip(),
        arguments=arguments,
        examples="" if hide else "\n".join(f"{typed}  # {does}" for typed, does in examples(parser.command)),
    )


def _usage(parser: argparse.ArgumentParser, shown: list[argparse.Action]) -> list[str]:
    groups = {id(action): group for group in parser._mutually_exclusive_groups for action in group._group_actions}
    parts: list[str] = []
    done: set[int] = set()
    for action in shown:
        group = groups.get(id(action))
        if group is None:
            parts.append(_optional(action, _written(action).split(", ")[-1]))
        elif id(group) not in done:
            done.add(id(group))
            either = " | ".join(_written(one).split(", ")[-1] for one in group._group_actions if one in shown)
            parts.append(f"({either})" if group.required else f"[{either}]")
    return parts


def _optional(action: argparse.Action, written: str) -> str:
    needed = action.required if action.option_strings else action.nargs not in ("?", "*")
    return written if needed else f"[{written}]"


def _written(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else _value(action)
    if not action.option_strings:
        return value
    return ", ".join(f"{option} {value}".strip() for option in action.option_strings)


def _value(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else None
    if name is None:
        name = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    return f"{name} …" if action.nargs in ("+", "*") else name


def _sentence(action: argparse.Action) -> str:
    values = {**vars(action), "choices": ", ".join(map(str, action.choices or ()))}
    return " ".join(((action.help or "") % values).split())


def _man_arguments(page: CommandPage) -> list[str]:
    lines: list[str] = []
    for argument in page.arguments:
        lines += [".TP", f".B {_roff(argument.written)}", _roff(argument.text)]
    return lines


def _roff(text: str) -> str:
    quoted = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return r"\&" + quoted if quoted.startswith((".", "'")) else quoted
