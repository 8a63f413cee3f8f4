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
    if agent == "omp":
        folder = real.omp_folder()
        script = folder / "manage_omp.ts"
        script.write_bytes((real.HERE / "manage_omp.ts").read_bytes())
        questions = scratch / "requests.jsonl"
        questions.write_text("\n".join(lines))
        command: list[str | Path] = [folder / "node_modules/@oven/bun-linux-x64/bin/bun", script, questions]
        return _answers(command, b"", dict(os.environ), len(lines))
    command = [real.node(), real.HERE / "manage_pi.mjs", real.oracle_folder() / "pi"]
    environ = os.environ | {"PI_ORACLE_PKG": str(real.pi_package(version)), "TZ": "UTC"}
    return _answers(command, "\n".join(lines).encode(), environ, len(lines))


def _answers(command: list[str | Path], given: bytes, environ: dict[str, str], wanted: int) -> list[Json]:
    done = subprocess.run(command, input=given, capture_output=True, env=environ, check=False)
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    if len(answers) != wanted:
        raise real.Unavailable(f"{len(answers)} of {wanted} answers: {done.stderr.decode(errors='replace')[-2000:]}")
    return answers
