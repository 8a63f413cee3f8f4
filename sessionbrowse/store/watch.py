"""Notice changes below directories: by the system's own means through watchfiles, else by looking again and again.

It tells paths, not what happened to them: whoever is told looks. A path that is told may be unchanged. Network disks
say nothing about what other machines write, so they are looked at.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

POLL_SECONDS = 0.7
WHOLE_POLL_SECONDS = 15.0
"""How often directories that are looked at are told whole: a file may grow without a trace in its directory."""
HOT_FILES = 60
"""Newest files of each looked-at directory that are looked at each time."""
_STEP_MS = 50
_DEBOUNCE_MS = 400
_STOP_MS = 500
MOUNTS = "/proc/self/mounts"
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "vboxsf"})
_REMOTE_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gvfsd", "prl_fs", "drvfs", "fuse.vmhgfs")

Changed = Callable[[frozenset[str]], object]


class Watcher:
    """Watches directories, those below them included, and tells changed paths from threads of its own."""

    def __init__(self, changed: Changed, *, poll: bool = False) -> None:
        self._changed = changed
        self._poll = poll
        self._wanted: tuple[str, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._stop = threading.Event()

    def watch(self, roots: Iterable[str]) -> None:
        """Watch these directories from now on, those that exist; does nothing if they are what is watched."""
        wanted = _outermost([os.path.abspath(root) for root in roots])
        existing = tuple([root for root in wanted if os.path.isdir(root)])
        self._missing = tuple([root for root in wanted if root not in existing])
        if existing == self._wanted:
            return
        self.stop()
        self._wanted, self._stop = existing, threading.Event()
        looked_at = existing if self._poll else [root for root in existing if is_remote(root)]
        watched = [root for root in existing if root not in looked_at]
        if watched:
            self._start(self._listen, watched)
        if looked_at:
            self._start(self._look, looked_at)

    def has_appeared(self) -> bool:
        """Whether a directory exists now that did not when it was to be watched."""
        return any(os.path.isdir(root) for root in self._missing)

    def stop(self) -> None:
        """Watch nothing any more."""
        self._stop.set()
        self._wanted = ()

    def _start(self, work: Callable[[Sequence[str], threading.Event], None], roots: Sequence[str]) -> None:
        thread = threading.Thread(target=work, args=(roots, self._stop), name="sessionbrowse-watch", daemon=True)
        thread.start()

    def _listen(self, roots: Sequence[str], stop: threading.Event) -> None:
        """Be told by the system; look instead when it cannot (its limits are reached, a disk has no such means)."""
        try:
            try:
                self._be_told(roots, stop, forbidden_too=True)
            except PermissionError:
                self._be_told(roots, stop, forbidden_too=False)
        except Exception:
            # Whatever the library or the system lacks, looking needs neither.
            if not stop.is_set():
                self._changed(frozenset(roots))
                self._look(roots, stop)

    def _be_told(self, roots: Sequence[str], stop: threading.Event, *, forbidden_too: bool) -> None:
        from watchfiles import watch

        for changes in watch(
            *roots,
            watch_filter=None,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_STOP_MS,
            stop_event=stop,
            # Told to leave out what is forbidden, the library also leaves out what is beyond the system's limit.
            ignore_permission_denied=not forbidden_too,
        ):
            self._changed(frozenset([path for _, path in changes]))

    def _look(self, roots: Sequence[str], stop: threading.Event) -> None:
        before = stamps(roots)
        told = time.monotonic()
        while not stop.wait(POLL_SECONDS):
            now = stamps(roots)
            changed = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
            before = now
            if time.monotonic() - told > WHOLE_POLL_SECONDS:
                told = time.monotonic()
                changed |= set(roots)
            if changed:
                self._changed(frozenset(changed))


def stamps(roots: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return times and sizes of the directories, those directly below them, and the newest files directly in these."""
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


def is_remote(path: str, mounts: str = MOUNTS) -> bool:
    """Tell whether a path lies on a disk of another machine, as far as the system says so."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(" ") for line in file]
    except OSError:
        return False
    here = os.path.realpath(path)
    best = ("", "")
    for parts in lines:
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        if here == point or here.startswith(point.rstrip("/") + "/"):
            best = max(best, (point, parts[2]), key=lambda each: len(each[0]))
    return best[1] in _REMOTE or best[1].startswith(_REMOTE_FUSE)


def _outermost(roots: Iterable[str]) -> list[str]:
    """Return the directories that lie in none of the others, in the order of their paths."""
    chosen: list[str] = []
    for root in sorted(set(roots)):
        if not any(root.startswith(above.rstrip("/") + "/") for above in chosen):
            chosen.append(root)
    return chosen
