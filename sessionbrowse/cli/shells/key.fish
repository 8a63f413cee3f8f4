function _sessionbrowse_line
  if set -l chosen (@COMMAND@ pick </dev/tty | string collect)
    if set -l line (@COMMAND@ resume $chosen --print | string collect)
      commandline --replace -- $line
    end
  end
  commandline --function repaint
end
bind @KEY@ _sessionbrowse_line
