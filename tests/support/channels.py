"""Channels between two ends in one process."""

from __future__ import annotations

import socket
from typing import Any

from sessionbrowse.services.background.channel import Channel


def channel_pair(first_receives: Any, second_receives: Any) -> tuple[Channel[Any], Channel[Any]]:
    """Return both ends of a new channel, for use across a process fork or between two threads."""
    first, second = socket.socketpair()
    return Channel(first.detach(), first_receives), Channel(second.detach(), second_receives)
