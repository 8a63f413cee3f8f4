# bash completion for sessionbrowse; to use it: source <(sessionbrowse completion bash)
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
