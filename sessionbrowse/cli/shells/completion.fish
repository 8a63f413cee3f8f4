# fish completion for sessionbrowse; to use it: sessionbrowse completion fish | source
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
