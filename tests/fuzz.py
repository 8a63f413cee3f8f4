"""Coverage-guided fuzzing of the codec, sessions, the writer and the index; needs the package `atheris`.

`python -m tests.fuzz SECONDS` fuzzes each target for a quarter of the time, `python -m tests.fuzz SECONDS TARGET` only
one. An input that breaks a promise is kept as a file, and its path printed; it becomes a test. `make fuzz` installs
what is needed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

TARGETS = ("codec", "session", "writer", "index")
MAX_BYTES = 6000
GRACE_SECONDS = 120
Target = Callable[[bytes], None]


def codec() -> Target:
    """Return the target for single lines: the quick decoder and the careful one agree, and neither raises."""
    from sessionbrowse.format import envelope
    from sessionbrowse.format.codec import decode_line

    def run(data: bytes) -> None:
        line = data.split(b"\n", 1)[0]
        decode_line(line)
        assert envelope.read_envelope(line) == envelope._read_odd(line)

    return run


def session() -> Target:
    """Return the target for whole files: everything can be asked of a session, and reading writes nothing."""
    from sessionbrowse.agents import AGENTS
    from tests.test_properties import check

    names = [None, *AGENTS]
    folder = Path(tempfile.mkdtemp())
    return lambda data: check(folder, data[1:], names[data[0] % len(names)] if data else None)


def writer() -> Target:
    """Return the target for changes: a label and a name are added after what was there, or refused with a sentence."""
    from sessionbrowse.errors import SessionBrowseError
    from sessionbrowse.services.change.label import label
    from sessionbrowse.services.change.rename import rename
    from sessionbrowse.store.read.session_file import open_session
    from tests.support.change_helpers import LONG_AGO_NS, Store, target

    store = Store(Path(tempfile.mkdtemp()))
    path = store.session("pi")

    def run(data: bytes) -> None:
        path.write_bytes(data)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        with suppress(SessionBrowseError):
            ids = [one for one in open_session(path).ids if one]
            label(target(path), ids[len(data) % len(ids)] if ids else "x", "fuzzed", context=store.context)
            rename(target(path), "Fuzzed", context=store.context)
        assert path.read_bytes().startswith(data)

    return run


def index() -> Target:
    """Return the target for the index: a list with the index is that without it."""
    from sessionbrowse.cli import main

    root = Path(tempfile.mkdtemp())
    path = root / "--home-dev--" / "2026-08-13T08-00-00-000Z_fuzz.jsonl"
    path.parent.mkdir()

    def listed(cache: str) -> object:
        os.environ["XDG_CACHE_HOME"] = cache
        out = io.TextIOWrapper(io.BytesIO(), write_through=True)
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            status = main(["list", "--json", "--hidden", "--root", str(root)])
        assert status in (0, 1)
        return json.loads(out.buffer.getvalue()) if status == 0 else None

    cache = str(root.parent / f"{root.name}-cache")

    def run(data: bytes) -> None:
        path.write_bytes(data)
        os.environ["XDG_CACHE_HOME"] = cache
        with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO()):
            assert main(["index", "--root", str(root)]) in (0, 1)
        assert listed(cache) == listed("/nowhere")

    return run


def seeds(name: str) -> list[bytes]:
    """Return the inputs to begin with: made-up sessions with every kind of entry, or their lines."""
    from tests.support.whole_sessions import SESSIONS

    if name == "codec":
        return [line for lines in SESSIONS for line in lines]
    return [(b"\0" if name == "session" else b"") + b"".join(lines) for lines in SESSIONS]


def fuzz(name: str, seconds: int, found: Path) -> None:
    """Fuzz one target in this process; libFuzzer ends it, with a status other than 0 for a finding."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from tests.support.mutations import mutated

    os.environ["HOME"] = tempfile.mkdtemp()
    corpus = Path(tempfile.mkdtemp())
    for number, data in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(data)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        """Damage the lines of a session, or bytes as libFuzzer does."""
        made = mutated(data, random.Random(seed)) if seed % 2 else atheris.Mutate(data, len(data) or 1)
        return bytes(made)[:most]

    with atheris.instrument_imports(include=["sessionbrowse"]):
        run = {"codec": codec, "session": session, "writer": writer, "index": index}[name]()
    flags = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=60", "-rss_limit_mb=2000"]
    atheris.Setup(
        [sys.argv[0], *flags, f"-artifact_prefix={found}/{name}-", "-print_final_stats=1", str(corpus)],
        run,
        custom_mutator=mutator,
    )
    atheris.Fuzz()


def main() -> int:
    """Fuzz each target in a process of its own; return 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("--found", type=Path)
    chosen = parser.parse_args()
    if chosen.target is not None and chosen.found is not None:
        fuzz(chosen.target, chosen.seconds, chosen.found)
        return 0
    targets = TARGETS if chosen.target is None else (chosen.target,)
    found = Path(tempfile.mkdtemp(prefix="sessionbrowse-fuzz-"))
    failed = 0
    for name in targets:
        print(f"{name}: {chosen.seconds // len(targets)} s", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", str(chosen.seconds // len(targets)), name, "--found", str(found)]
        limit = chosen.seconds + GRACE_SECONDS
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False, timeout=limit)
        lines = done.stderr.splitlines()
        print("\n".join(line for line in lines if line.startswith("stat::number_of_executed_units")), flush=True)
        if done.returncode:
            failed += 1
            print("\n".join(lines[-60:]))
    kept = sorted(found.iterdir())
    print("\n".join(["inputs that broke a promise:", *map(str, kept)]) if kept else "no promise was broken")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
