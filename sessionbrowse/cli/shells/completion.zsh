#compdef sessionbrowse
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
