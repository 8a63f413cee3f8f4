_sessionbrowse_line() {
  local chosen line
  chosen=$(@COMMAND@ pick </dev/tty) && line=$(@COMMAND@ resume "$chosen" --print) || return
  READLINE_LINE=$line
  READLINE_POINT=${#READLINE_LINE}
}
bind -x '"@KEY@": _sessionbrowse_line'
