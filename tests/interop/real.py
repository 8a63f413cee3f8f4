"""The real programs: where the oracle scripts lie, how the programs are installed, how they write and answer.

Only this module starts node and bun. It knows nothing of our own reader.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs

PI_NEWEST = "1.5.2"
PI_OLDER = "0.87.1"
OMP = "18.2.3"
NODE_MAJOR = "24"
HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
# Rows of /tree shorten paths below HOME to `~`; the generated tool calls read files of this folder.
PI_HOME = "/projects/cache"
# The slowest honest answer takes about a second.
HANGS_AFTER_SECONDS = 20
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


class Unavailable(Exception):
    """A real program cannot be asked here; the message says what is missing."""


def oracle_folder() -> Path:
    """Return the folder of the oracle scripts: `SESSIONBROWSE_ORACLE`, else `../shared/oracle` beside the checkout."""
    folder = Path(os.environ.get("SESSIONBROWSE_ORACLE") or CHECKOUT.parent / "shared" / "oracle")
    if not (folder / "pi" / "oracle.mjs").is_file():
        raise Unavailable(f"no oracle scripts in {folder}; name their folder in SESSIONBROWSE_ORACLE")
    return folder


def cache_folder() -> Path:
    """Return where the real programs are installed: `SESSIONBROWSE_INTEROP`, else below the user's cache."""
    named = os.environ.get("SESSIONBROWSE_INTEROP")
    return Path(named) if named else platformdirs.user_cache_path("sessionbrowse") / "interop"


# ---- installing ----------------------------------------------------------------------------------------------


def _run(command: Sequence[str | Path], cwd: Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3600
    )
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def _npm(*arguments: str, cwd: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed; it fetches the real programs by their package names")
    _run([npm, *arguments], cwd)


def node() -> Path:
    """Return a Node that pi 1.5.2 runs on (22.19 or newer): the system's, else one of our own."""
    system = shutil.which("node")
    if system is not None:
        said = subprocess.run([system, "--version"], capture_output=True, text=True, timeout=3600).stdout
        version = re.match(r"v(\d+)\.(\d+)", said)
        if version and (int(version[1]), int(version[2])) >= (22, 19):
            return Path(system)
    folder = cache_folder() / f"node{NODE_MAJOR}"
    program = folder / "node_modules" / "node" / "bin" / "node"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _npm(
            "install",
            "--prefix",
            str(folder),
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            f"node@{NODE_MAJOR}",
            cwd=folder,
        )
    return program


def pi_package(version: str) -> Path:
    """Return the unpacked package of a pi version, fetched by name where it is missing."""
    folder = cache_folder() / f"pi-{version}"
    installed = folder / "node_modules" / "@earendil-works" / "pi-coding-agent"
    unpacked = folder / "package"
    for package in (unpacked, installed):
        if (package / "package.json").is_file():
            return package
    folder.mkdir(parents=True, exist_ok=True)
    name = f"@earendil-works/pi-coding-agent@{version}"
    if version == PI_NEWEST:  # its tarball alone runs: dist/bundle is self-contained
        _npm("pack", name, "--silent", cwd=folder)
        for archive in folder.glob("*.tgz"):
            with tarfile.open(archive) as tar:
                # The first releases of Python 3.11 have no filters.
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(folder)
        return unpacked
    _npm(
        "install",
        "--prefix",
        str(folder),
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        name,
        cwd=folder,
    )
    return installed


def pi_command(version: str) -> list[str | Path]:
    """Return the command that starts the real pi with extensions: its tarball alone lacks the loader of extensions."""
    package = pi_package(version)
    if version != PI_NEWEST:
        return [node(), package / "dist" / "cli.js"]
    loader = package.parent / "node_modules" / "jiti"
    if not loader.exists():
        wanted = json.loads((package / "package.json").read_text())["dependencies"]["jiti"]
        folder = str(package.parent)
        _npm(
            "install", "--prefix", folder, "--no-audit", "--no-fund", "--no-save", f"jiti@{wanted}", cwd=package.parent
        )
    return [node(), package / "dist" / "bundle" / "cli.js"]


def omp_command() -> list[str | Path]:
    """Return the command that starts the real omp."""
    folder = omp_folder()
    return [_bun(folder), folder / "node_modules" / "@oh-my-pi" / "pi-coding-agent" / "dist" / "cli.js"]


def omp_folder() -> Path:
    """Return a folder with omp installed and the oracle's scripts beside it: they find omp from where they lie."""
    folder = cache_folder() / "omp"
    folder.mkdir(parents=True, exist_ok=True)
    source = oracle_folder() / "omp"
    for script in [*source.glob("*.ts"), source / "package.json", HERE / "ask_omp.ts"]:
        target = folder / script.name
        if not target.exists() or target.read_bytes() != script.read_bytes():
            target.unlink(missing_ok=True)
            target.write_bytes(script.read_bytes())
    if not _bun(folder).exists():
        _npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", cwd=folder)
    return folder


def _bun(folder: Path) -> Path:
    return folder / "node_modules" / "@oven" / "bun-linux-x64" / "bin" / "bun"


# ---- writing sessions ----------------------------------------------------------------------------------------


def generate_pi(version: str, out: Path, seed: int, count: int) -> None:
    """Let the real pi write sessions: `out/agent/sessions/<project>/*.jsonl` and the flat `out/custom`."""
    script = oracle_folder() / "pi" / "gen.mjs"
    _run([node(), script, out, str(seed), str(count)], out.parent, _pi_env(version))


def generate_edge(out: Path) -> None:
    """Write the damaged and odd files; their times count up, so that listings have one order."""
    _run([node(), oracle_folder() / "pi" / "edge.mjs", out], out.parent)
    for number, file in enumerate(sorted(out.glob("*.jsonl"))):
        os.utime(file, (1_769_900_000 + number, 1_769_900_000 + number))


def generate_omp(out: Path, seed: int, count: int) -> None:
    """Let the real omp write sessions: `out/agent/sessions/<project>/*.jsonl` with what belongs to them."""
    folder = omp_folder()
    _run([_bun(folder), folder / "gen.ts", out, str(seed), str(count)], out.parent)


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


def ask_omp(root: Path, files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield omp's answer for each file (see ask_omp.ts); `key` is the path below `root`."""
    folder = omp_folder()
    requests = []
    for file in files:
        key = file.relative_to(root).as_posix()
        chooser = random.Random(key)
        views = [[f"--search={chooser.choice(SEARCHES)}", "--filter=all", "--width=1000"]]
        requests.append({"key": key, "file": str(file), "trees": True, "views": views, "contexts": 6})
    yield from _ask([_bun(folder), folder / "ask_omp.ts"], requests, None)


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


def list_omp(root: Path) -> dict[str, Any]:
    """Return omp's own listing of a sessions root."""
    folder = omp_folder()
    return _print_json([_bun(folder), folder / "list.ts", root, "--full", "--runs=1"], None)


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
