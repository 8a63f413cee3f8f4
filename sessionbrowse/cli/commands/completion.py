"""Completion scripts for bash, zsh and fish, made from the parser: commands, options, choices, files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from msgspec import Struct

from sessionbrowse.text import shell_quote as quote

SHELLS = ("bash", "zsh", "fish")

_DIRECTORIES = ("--root", "--cwd")


class Option(Struct, frozen=True):
    """One option: its names, its help, whether it takes a value, and the possible values."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...] = ()


class WordList(Struct, frozen=True):
    """The completions of a command: its options, and the possible words of its arguments."""

    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...] = ()


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of a shell for the parser's commands and options."""
    top, commands = _words(parser, ""), dict(_commands(parser))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](top, commands)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, WordList]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, _words(command, helps[name])


def _words(parser: argparse.ArgumentParser, help_text: str) -> WordList:
    options: list[Option] = []
    choices: list[str] = []
    for action in parser._actions:
        values = tuple(map(str, action.choices)) if action.choices else ()
        if action.option_strings:
            takes_value = action.nargs != 0
            options.append(
                Option(tuple(action.option_strings), action.help or "", takes_value, values if takes_value else ())
            )
        elif not isinstance(action, argparse._SubParsersAction):
            choices += values
    return WordList(help_text, tuple(options), tuple(choices))


def _flags(words: WordList) -> str:
    return " ".join([name for option in words.options for name in option.names])


def _values(top: WordList, commands: dict[str, WordList]) -> Iterator[tuple[str, Option]]:
    """Yield (command, option) for every option that takes a value; the command is "" for options of all commands."""
    for name, words in {"": top, **commands}.items():
        shared = {option.names for option in top.options} if name else set()
        for option in words.options:
            if option.takes_value and option.names not in shared:
                yield name, option


def _bash(top: WordList, commands: dict[str, WordList]) -> str:
    values = []
    for command, option in _values(top, commands):
        names = "|".join([f"{command or '*'}:{name}" for name in option.names])
        if option.choices:
            reply = f'COMPREPLY=($(compgen -W {quote(" ".join(option.choices))} -- "$word"))'
        elif option.names[0] in _DIRECTORIES:
            reply = 'COMPREPLY=($(compgen -d -- "$word"))'
        else:
            reply = 'COMPREPLY=($(compgen -f -- "$word"))'
        values.append(f"        {names}) {reply}; return ;;")
    words = [
        f"        {name}) options={quote(_flags(one))}; choices={quote(' '.join(one.choices))} ;;"
        for name, one in commands.items()
    ]
    return "\n".join(
        [
            "# bash completion for sessionbrowse; to use it: source <(sessionbrowse completion bash)",
            "_sessionbrowse() {",
            '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '    local command="" options="" choices="" at',
            "    for ((at = 1; at < COMP_CWORD; at++)); do",
            '        case "${COMP_WORDS[at]}" in',
            f'            {"|".join(commands)}) command="${{COMP_WORDS[at]}}"; break ;;',
            "        esac",
            "    done",
            '    case "$command:$before" in',
            *values,
            "    esac",
            '    case "$command" in',
            f"        '') options={quote(_flags(top))}; choices={quote(' '.join(commands))} ;;",
            *words,
            "    esac",
            '    if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word"))',
            '    elif [[ -n $choices ]]; then COMPREPLY=($(compgen -W "$choices" -- "$word"))',
            '    else COMPREPLY=($(compgen -f -- "$word")); fi',
            "}",
            "complete -o filenames -F _sessionbrowse sessionbrowse",
            "",
        ]
    )


def _zsh(top: WordList, commands: dict[str, WordList]) -> str:
    described = " ".join([quote(f"{name}:{_plain(one.help)}") for name, one in commands.items()])
    cases = []
    for name, one in commands.items():
        rest = f"*:word:({' '.join(one.choices)})" if one.choices else "*:file:_files"
        arguments = " ".join([*map(_zsh_option, one.options), quote(rest)])
        cases.append(f"                {name}) _arguments {arguments} ;;")
    return "\n".join(
        [
            "#compdef sessionbrowse",
            "# zsh completion for sessionbrowse; to use it: source <(sessionbrowse completion zsh)",
            "_sessionbrowse() {",
            "    local curcontext=$curcontext state line",
            f"    local -a commands=({described})",
            f"    local -a options=({' '.join(map(_zsh_option, top.options))})",
            "    _arguments -C $options '1:command:->command' '*::argument:->arguments'",
            "    case $state in",
            "        command) _describe command commands ;;",
            "        arguments)",
            "            case $line[1] in",
            *cases,
            "            esac ;;",
            "    esac",
            "}",
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }",
            "compdef _sessionbrowse sessionbrowse",
            "",
        ]
    )


def _zsh_option(option: Option) -> str:
    value = ""
    if option.takes_value:
        if option.choices:
            value = f":value:({' '.join(option.choices)})"
        else:
            value = ":directory:_files -/" if option.names[0] in _DIRECTORIES else ":value:_files"
    told = re.sub(r"([\[\]:])", r"\\\1", _plain(option.help))
    return " ".join([quote(f"{name}[{told}]{value}") for name in option.names])


def _fish(top: WordList, commands: dict[str, WordList]) -> str:
    lines = [
        "# fish completion for sessionbrowse; to use it: sessionbrowse completion fish | source",
        "complete -c sessionbrowse -n __fish_use_subcommand -f",
    ]
    for name, one in commands.items():
        told = quote(_plain(one.help))
        lines.append(f"complete -c sessionbrowse -n __fish_use_subcommand -a {name} -d {told}")
    for name, one in {"": top, **commands}.items():
        when = f"-n {quote(f'__fish_seen_subcommand_from {name}')}" if name else "-n __fish_use_subcommand"
        if one.choices:
            lines.append(f"complete -c sessionbrowse {when} -f -a {quote(' '.join(one.choices))}")
        for option in one.options:
            lines.append(f"complete -c sessionbrowse {when} {_fish_option(option)}")
    return "\n".join([*lines, ""])


def _fish_option(option: Option) -> str:
    words = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.takes_value:
        if option.choices:
            words.append(f"-x -a {quote(' '.join(option.choices))}")
        else:
            words.append("-x -a '(__fish_complete_directories)'" if option.names[0] in _DIRECTORIES else "-r")
    return " ".join([*words, "-d", quote(_plain(option.help))])


def _plain(text: str) -> str:
    return " ".join(text.split())
