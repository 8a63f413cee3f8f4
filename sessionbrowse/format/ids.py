"""Make new ids of sessions and entries as the agent programs do. The caller passes the random bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

RandomBytes = Callable[[int], bytes]

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_TRIES = 100


def uuid7(time_ms: int, random_bytes: RandomBytes) -> str:
    """Return a UUID of version 7: the time in milliseconds, then random bits (pi 0.67, omp 14.1, atomic)."""
    chance = int.from_bytes(random_bytes(10), "big")
    digits = f"{time_ms:012x}7{chance & 0xFFF:03x}{8 + (chance >> 12 & 3):x}{chance >> 14 & (1 << 60) - 1:015x}"
    return _grouped(digits)


def uuid4(random_bytes: RandomBytes) -> str:
    """Return a random UUID, version 4, such as indusagi 0.12 uses for session ids."""
    chance = int.from_bytes(random_bytes(16), "big")
    digits = f"{chance:032x}"
    return _grouped(f"{digits[:12]}4{digits[13:16]}{8 + (chance & 3):x}{digits[17:]}")


def is_session_id(text: str) -> bool:
    """Return True if pi (since 0.58) and atomic accept the text as the id of a new session."""
    return _SESSION_ID.fullmatch(text) is not None


def entry_id(taken: Container[str], random_bytes: RandomBytes) -> str:
    """Return a new entry id: 8 random hex digits not in `taken`, or a UUID after a hundred collisions (pi 1.5.2)."""
    for _ in range(_TRIES):
        made = random_bytes(4).hex()
        if made not in taken:
            return made
    return uuid4(random_bytes)


def file_name(timestamp: str, session_id: str) -> str:
    """Return the file name of a session: the header's timestamp, with `-` in place of `:` and `.`, and the id."""
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def _grouped(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
