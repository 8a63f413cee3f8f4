_sessionbrowse_line() {
  local chosen line
  zle -I
  if chosen=$(@COMMAND@ pick </dev/tty) && line=$(@COMMAND@ resume "$chosen" --print); then
    BUFFER=$line
    CURSOR=$#BUFFER
  fi
  zle reset-prompt
}
zle -N _sessionbrowse_line
bindkey '@KEY@' _sessionbrowse_line
