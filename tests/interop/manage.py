"""Ask the real session managers of pi and omp to read, fork and continue session files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.interop import real

Json = Any
Request = dict[str, Json]


def ask_manager(agent: str, version: str, requests: Iterable[Request], scratch: Path) -> list[Json]:
    """Return the real program's answer to each request (see manage_pi.mjs); it works on the files themselves."""
    lines = [json.dumps(request) for request in requests]
    questions, said = scratch / "requests.jsonl", scratch / "answers.jsonl"
    said.write_bytes(b"")
    questions.write_text("\n".join(lines))
    environ = dict(os.environ)
    if agent == "omp":
        folder = real.omp_folder(version)
        command: list[str | Path] = [real.bun(folder), folder / "manage_omp.ts", questions, said]
    else:
        command = [real.node(), real.HERE / "manage_pi.mjs", real.oracle_folder() / "pi", questions, said]
        environ |= {"PI_ORACLE_PKG": str(real.pi_package(version)), "TZ": "UTC"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=environ, check=False, timeout=3600
    )
    answers = [json.loads(line) for line in said.read_bytes().split(b"\n") if line]
    if len(answers) != len(lines):
        complaint = done.stderr.decode(errors="replace")[-2000:]
        raise real.Unavailable(f"{len(answers)} of {len(lines)} answers: {complaint}")
    return answers
