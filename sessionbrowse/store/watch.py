"""Watch directories for changes with notifications of the operating system (library watchfiles), else by polling.

The watcher reports paths, not the kind of change, and a reported path may be unchanged. Network disks send no
notifications about changes by other machines, so they are polled.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from sessionbrowse.store.find.slow_disks import is_remote

POLL_SECONDS = 0.7
WHOLE_POLL_SECONDS = 15.0
"""Interval after which polled directories are reported in any case, because only their newest files are checked."""
HOT_FILES = 60
"""Number of newest files whose time and size are checked at each poll, in each directory and direct subdirectory."""
_STEP_MS = 50
_DEBOUNCE_MS = 400
_STOP_MS = 500


Report = Callable[[frozenset[str]], object]


class Watcher:
    """Watches directories with all subdirectories; calls `report` with changed paths, in its own threads."""

    def __init__(self, report: Report, *, polls_all: bool = False) -> None:
        self._report = report
        self._polls_all = polls_all
        self._wanted: tuple[str, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._stop = threading.Event()

    def watch(self, roots: Iterable[str]) -> None:
        """Watch the existing directories among `roots` from now on, instead of the directories watched before."""
        wanted = _outermost([os.path.abspath(root) for root in roots])
        existing = tuple([root for root in wanted if os.path.isdir(root)])
        self._missing = tuple([root for root in wanted if root not in existing])
        if existing == self._wanted:
            return
        self.stop()
        self._wanted, self._stop = existing, threading.Event()
        polled = existing if self._polls_all else [root for root in existing if is_remote(root)]
        notified = [root for root in existing if root not in polled]
        if notified:
            self._start(self._listen, notified)
        if polled:
            self._start(self._poll, polled)

    def has_appeared(self) -> bool:
        """Return True if a directory that was missing when `watch` was called exists now."""
        return any(os.path.isdir(root) for root in self._missing)

    def stop(self) -> None:
        """Stop watching all directories."""
        self._stop.set()
        self._wanted = ()

    def _start(self, work: Callable[[Sequence[str], threading.Event], None], roots: Sequence[str]) -> None:
        thread = threading.Thread(target=work, args=(roots, self._stop), name="sessionbrowse-watch", daemon=True)
        thread.start()

    def _listen(self, roots: Sequence[str], stop: threading.Event) -> None:
        """Report the operating system's notifications; if they fail, for example because of a system limit, poll."""
        try:
            try:
                self._report_notifications(roots, stop, skips_forbidden=False)
            except PermissionError:
                self._report_notifications(roots, stop, skips_forbidden=True)
        except Exception:
            # Polling is used after any error, because it needs neither the library nor notifications.
            if not stop.is_set():
                self._report(frozenset(roots))
                self._poll(roots, stop)

    def _report_notifications(self, roots: Sequence[str], stop: threading.Event, *, skips_forbidden: bool) -> None:
        from watchfiles import watch

        for changes in watch(
            *roots,
            watch_filter=None,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_STOP_MS,
            stop_event=stop,
            # The option `ignore_permission_denied` is set only after a `PermissionError`, because it also makes the
            # library silently skip directories beyond the operating system's limit.
            ignore_permission_denied=skips_forbidden,
        ):
            self._report(frozenset([path for _, path in changes]))

    def _poll(self, roots: Sequence[str], stop: threading.Event) -> None:
        before = times_and_sizes(roots)
        last_whole = time.monotonic()
        while not stop.wait(POLL_SECONDS):
            now = times_and_sizes(roots)
            changed = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
            before = now
            if time.monotonic() - last_whole > WHOLE_POLL_SECONDS:
                last_whole = time.monotonic()
                changed |= set(roots)
            if changed:
                self._report(frozenset(changed))


def times_and_sizes(roots: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return (time, size) by path: of directories, of their direct subdirectories, and of the newest files in each."""
    found: dict[str, tuple[int, int]] = {}
    for root in roots:
        folders = [root]
        with suppress(OSError), os.scandir(root) as entries:
            folders += [entry.path for entry in entries if entry.is_dir()]
        for folder in folders:
            with suppress(OSError):
                status = os.stat(folder)
                found[folder] = (status.st_mtime_ns, status.st_size)
                found.update(_newest(folder))
    return found


def _newest(folder: str) -> list[tuple[str, tuple[int, int]]]:
    files: list[tuple[str, tuple[int, int]]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_file():
                    status = entry.stat()
                    files.append((entry.path, (status.st_mtime_ns, status.st_size)))
    return sorted(files, key=lambda file: -file[1][0])[:HOT_FILES]


def _outermost(roots: Iterable[str]) -> list[str]:
    """Return the directories that are not inside another of them, sorted by path."""
    chosen: list[str] = []
    for root in sorted(set(roots)):
        if not any(root.startswith(above.rstrip("/") + "/") for above in chosen):
            chosen.append(root)
    return chosen
