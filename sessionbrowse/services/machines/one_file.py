"""The age of one session file on another machine, by that machine's clock."""

from __future__ import annotations

from contextlib import closing
from shlex import quote

from sessionbrowse.services.machines import script
from sessionbrowse.services.machines.conversation import Conversation, Ended
from sessionbrowse.store.own.mirrors import machine_of, read_state, remote_path

_SILENCE_S = 15.0


def changed_there(path: str, top: str | None = None) -> float | None:
    """Return how many seconds ago a session in a mirror changed on its machine; None if the machine does not answer.

    The machine is asked by ssh, because the mirror may be hours old.
    """
    state = read_state(machine_of(path) or "", top)
    if state is None:
        return None
    name = quote(remote_path(path))
    ask = f"""if [ -f {name} ] && [ ! -h {name} ]; then case $o in
1) find {name} -prune -printf %T@;; 2) stat -c %Y {name};; 3) stat -f %m {name};; esac </dev/null; fi"""
    try:
        with closing(Conversation(state.host, silence_s=_SILENCE_S)) as conversation:
            clock = conversation.begin(script.BEGIN).partition(" ")[0]
            return max(0.0, float(clock) - float(conversation.ask(ask, 4096)))
    except (Ended, OSError, ValueError):
        return None
