"""The completion scripts for bash, zsh and fish; each script calls the hidden command `__complete`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sessionbrowse.text import clean

SCRIPTS = {
    "bash": r"""# bash completion for sessionbrowse; to use it: source <(sessionbrowse completion bash)
_sessionbrowse() {
    local word="${COMP_WORDS[COMP_CWORD]}" line value
    local -a values=() lines=()
    COMPREPLY=()
    [[ $word == "=" ]] && word=""
    while IFS= read -r line; do
        case $line in
            :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
            :directories) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
            *) printf -v value %q "${line%%$'\t'*}"; values+=("$value"); lines+=("${line//$'\t'/  }") ;;
        esac
    done < <(command sessionbrowse __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    # Meanings are shown where bash only lists the words; it inserts no more than their common beginning then.
    if ((${#values[@]} > 1 && COMP_TYPE == 63)); then COMPREPLY=("${lines[@]}"); else COMPREPLY=("${values[@]}"); fi
}
complete -F _sessionbrowse sessionbrowse
""",
    "zsh": r"""#compdef sessionbrowse
# zsh completion for sessionbrowse; to use it: source <(sessionbrowse completion zsh)
_sessionbrowse() {
    local line
    local -a values shown
    for line in "${(@f)$(command sessionbrowse __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            (:files) _files; return ;;
            (:directories) _files -/; return ;;
            ('') ;;
            (*) values+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  -- }") ;;
        esac
    done
    (( $#values )) && compadd -l -V sessionbrowse -d shown -a values
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _sessionbrowse sessionbrowse
""",
    "fish": r"""# fish completion for sessionbrowse; to use it: sessionbrowse completion fish | source
function __sessionbrowse_words
    set -l before (commandline -opc)
    set -l last (commandline -ct)
    for line in (command sessionbrowse __complete $before[2..-1] "$last" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$last"
            case ':directories'
                __fish_complete_directories "$last"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c sessionbrowse -f -k -a '(__sessionbrowse_words)'
""",
}


def complete(words: Sequence[str]) -> int:
    """Print completions of a command line's last word, one per line, followed by a tab and a description if any."""
    from sessionbrowse.cli.candidates import candidates

    # A shell writes the lines on the terminal as they are, and takes each as one completion.
    lines = [clean(one.word) + (f"\t{clean(one.meaning)}" if one.meaning else "") for one in candidates(words)]
    sys.stdout.buffer.write(b"".join(os.fsencode(f"{line}\n") for line in lines))
    sys.stdout.flush()
    return 0
