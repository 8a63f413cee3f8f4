"""The real programs, as `programs` installs them: how they write sessions and answer questions about them.

Only this module starts node and bun. It knows nothing of our own reader.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .programs import HERE as HERE
from .programs import Unavailable as Unavailable
from .programs import bun as bun
from .programs import cache_folder as cache_folder
from .programs import node as node
from .programs import omp_command as omp_command
from .programs import omp_folder as omp_folder
from .programs import oracle_folder as oracle_folder
from .programs import pi_command as pi_command
from .programs import pi_package as pi_package
from .programs import run as run
from .programs import versions as versions

PI_VERSIONS, OMP_VERSIONS = versions("pi"), versions("omp")
PI_NEWEST, PI_OLDER = PI_VERSIONS[0], PI_VERSIONS[-1]
OMP = OMP_VERSIONS[0]
PROGRAMS = [*(("pi", version) for version in PI_VERSIONS), *(("omp", version) for version in OMP_VERSIONS)]
# Rows of /tree shorten paths below HOME to `~`; the generated tool calls read files of this folder.
PI_HOME = "/projects/cache"
# The slowest honest answer takes about a second on a machine that does nothing else.
HANGS_AFTER_SECONDS = 60
SEARCHES = [
    "cache",
    "user",
    "parser token",
    "reminder",
    "model",
    "summary",
    "ls",
    "x",
    "mark",
    "日本語",
    "thinking",
    "bash",
]


# ---- writing sessions ----------------------------------------------------------------------------------------


def generate_pi(version: str, out: Path, seed: int, count: int) -> None:
    """Let the real pi write sessions: `out/agent/sessions/<project>/*.jsonl` and the flat `out/custom`."""
    script = oracle_folder() / "pi" / "gen.mjs"
    run([node(), script, out, str(seed), str(count)], out.parent, _pi_env(version))


def generate_edge(out: Path) -> None:
    """Write the damaged and odd files; their times count up, so that listings have one order."""
    run([node(), oracle_folder() / "pi" / "edge.mjs", out], out.parent)
    for number, file in enumerate(sorted(out.glob("*.jsonl"))):
        os.utime(file, (1_769_900_000 + number, 1_769_900_000 + number))


def generate_omp(out: Path, seed: int, count: int, version: str = OMP) -> None:
    """Let the real omp write sessions: `out/agent/sessions/<project>/*.jsonl` with what belongs to them."""
    folder = omp_folder(version)
    run([bun(folder), folder / "gen.ts", out, str(seed), str(count)], out.parent)


# ---- asking --------------------------------------------------------------------------------------------------


def ask_pi(version: str, root: Path, files: Iterable[Path], *, trees: bool = True) -> Iterator[dict[str, Any]]:
    """Yield pi's answer for each file (see ask_pi.mjs); `key` is the path below `root`."""
    requests = []
    for file in files:
        key = file.relative_to(root).as_posix()
        is_v1 = _is_version_1(file)
        views = [] if is_v1 or not trees else _pi_views(key, _entry_ids(file))
        requests.append(
            {
                "key": key,
                "file": str(file),
                "normalize": is_v1,
                "trees": trees,
                "views": views,
                "contexts": 6 if trees else 0,
            }
        )
    command = [node(), HERE / "ask_pi.mjs", oracle_folder() / "pi"]
    yield from _ask(command, requests, _pi_env(version) | {"PI_ORACLE_HOME": PI_HOME})


def ask_omp(root: Path, files: Iterable[Path], version: str = OMP, *, trees: bool = True) -> Iterator[dict[str, Any]]:
    """Yield omp's answer for each file (see ask_omp.ts); `key` is the path below `root`."""
    folder = omp_folder(version)
    requests = []
    for file in files:
        key = file.relative_to(root).as_posix()
        chooser = random.Random(key)
        views = [[f"--search={chooser.choice(SEARCHES)}", "--filter=all", "--width=1000"]] if trees else []
        requests.append({"key": key, "file": str(file), "trees": trees, "views": views, "contexts": 6 if trees else 0})
    yield from _ask([bun(folder), folder / "ask_omp.ts"], requests, None)


def list_pi(version: str, root: Path, *, flat: bool = False) -> dict[str, Any]:
    """Return pi's own listing of a sessions root, or of a flat custom directory."""
    command: list[str | Path] = [node(), oracle_folder() / "pi" / "list.mjs", root, "--json", *_flat(flat)]
    return _print_json(command, _pi_env(version))


def threads_pi(version: str, root: Path, *, flat: bool = False) -> dict[str, Any]:
    """Return the rows of pi's real /resume in its threaded order."""
    picker = oracle_folder() / "pi" / "picker.mjs"
    command: list[str | Path] = [node(), picker, root, "--sort", "threaded", *_flat(flat)]
    return _print_json(command, _pi_env(version))


def _flat(flat: bool) -> list[str]:
    return ["--flat"] if flat else []


def list_omp(root: Path, version: str = OMP) -> dict[str, Any]:
    """Return omp's own listing of a sessions root."""
    folder = omp_folder(version)
    return _print_json([bun(folder), folder / "list.ts", root, "--full", "--runs=1"], None)


def _ask(
    command: Sequence[str | Path], requests: list[dict[str, Any]], env: dict[str, str] | None
) -> Iterator[dict[str, Any]]:
    """Yield one answer for each request.

    A program that hangs over a file is asked once more, for the machine may be busy; then without its /tree, which is
    then said to hang; if it still hangs, the answer is only `{"key", "hangs": true}`.
    """
    left = requests
    while left:
        answered = 0
        for answer in _ask_until_it_hangs(command, left, env):
            answered += 1
            yield answer
        if answered < len(left):
            yield _ask_again(command, left[answered], env)
        left = left[answered + 1 :]


def _ask_again(command: Sequence[str | Path], request: dict[str, Any], env: dict[str, str] | None) -> dict[str, Any]:
    for answer in _ask_until_it_hangs(command, [request], env):
        return answer
    for answer in _ask_until_it_hangs(command, [request | {"trees": False, "views": []}], env):
        return answer | {"trees": "hangs"}
    return {"key": request["key"], "hangs": True}


def _ask_until_it_hangs(
    command: Sequence[str | Path], requests: list[dict[str, Any]], env: dict[str, str] | None
) -> Iterator[dict[str, Any]]:
    given = "".join(json.dumps(request) + "\n" for request in requests).encode()
    with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as complaints:
        questions.write(given)
        questions.seek(0)
        process = subprocess.Popen(
            command,
            stdin=questions,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=env,
            cwd="/",  # where a session without a directory would run: not a place that says where this was made
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            answered = 0
            for answer in _lines_in_time(process.stdout.fileno()):
                yield answer
                answered += 1
            status = process.wait(timeout=3600)
            if status != 0 or answered < len(requests):
                complaints.seek(0)
                said = complaints.read().decode(errors="replace")
                counts = f"{answered} answers to {len(requests)} questions, exit status {status}"
                raise Unavailable(f"{' '.join(map(str, command))}: {counts}\n{said}")
        except TimeoutError:
            return
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=3600)
            process.stdout.close()


def _lines_in_time(descriptor: int) -> Iterator[dict[str, Any]]:
    waiting = b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], HANGS_AFTER_SECONDS)
        if not ready:
            raise TimeoutError
        read = os.read(descriptor, 1 << 20)
        *whole, waiting = (waiting + read).split(b"\n")
        yield from (json.loads(line) for line in whole)
        if not read:
            return


def _print_json(command: Sequence[str | Path], env: dict[str, str] | None) -> dict[str, Any]:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=3600)
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command))}\n{done.stderr.decode(errors='replace')}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _pi_env(version: str) -> dict[str, str]:
    return os.environ | {"PI_ORACLE_PKG": str(pi_package(version)), "TZ": "UTC"}


def _pi_views(key: str, ids: list[str]) -> list[list[str]]:
    """Return /tree views with a search, with folds and from another leaf, the same for the same file."""
    if not ids:
        return []
    chooser = random.Random(key)
    folds = ",".join(sorted(chooser.sample(ids, (len(ids) + 1) // 2)))
    return [
        ["--search", chooser.choice(SEARCHES), "--filter", "all"],
        ["--search", chooser.choice(SEARCHES)],
        ["--fold", folds],
        ["--fold", folds, "--filter", "all"],
    ]


def _lines(file: Path) -> Iterator[Any]:
    for line in file.read_bytes().split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _entry_ids(file: Path) -> list[str]:
    entries = (value for value in _lines(file) if isinstance(value, dict) and value.get("type") != "session")
    return list(
        dict.fromkeys(entry["id"] for entry in entries if isinstance(entry.get("id"), str) and "," not in entry["id"])
    )


def _is_version_1(file: Path) -> bool:
    headers = (value for value in _lines(file) if isinstance(value, dict) and value.get("type") == "session")
    header = next(headers, None)
    return header is not None and "version" not in header
