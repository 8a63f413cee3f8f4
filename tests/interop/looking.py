"""Let programs look at session files: the real pi and omp in one long-lived process each, our rules for the others."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sessionbrowse.services.inspect.documents import context_document
from sessionbrowse.store.read.session_file import open_session
from tests.interop import real

Seen = dict[str, Any]
Look = Callable[[Path], Seen]


@contextmanager
def programs() -> Iterator[dict[str, Look]]:
    """Yield a function for each agent that says what its program makes of a file: listed, opens, ids, branch, context.

    Raises:
        Unavailable: a real program cannot be asked.
    """
    omp = real.omp_folder()
    pi_env = os.environ | {"PI_ORACLE_PKG": str(real.pi_package(real.PI_NEWEST)), "TZ": "UTC"}
    with ExitStack() as stack:
        asked: dict[str, Look] = {
            "pi": stack.enter_context(
                _process([real.node(), real.HERE / "look_pi.mjs", real.oracle_folder() / "pi"], pi_env)
            ),
            "omp": stack.enter_context(_process([real.bun(omp), omp / "look_omp.ts"], None)),
        }
        yield asked | {agent: _by_our_rules(agent) for agent in ("atomic", "indusagi")}


@contextmanager
def _process(command: list[str | Path], env: dict[str, str] | None) -> Iterator[Look]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd="/")
    assert process.stdin is not None
    assert process.stdout is not None
    questions, answers = process.stdin, process.stdout
    known: dict[Path, Seen] = {}

    def look(path: Path) -> Seen:
        if path not in known:
            questions.write(json.dumps({"file": str(path)}).encode() + b"\n")
            questions.flush()
            if not select.select([answers], [], [], real.HANGS_AFTER_SECONDS)[0]:
                raise TimeoutError(f"{command[0]} hangs at {path}")
            known[path] = json.loads(answers.readline())
        return known[path]

    try:
        yield look
    finally:
        questions.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)
        answers.close()


def _by_our_rules(agent: str) -> Look:
    """Return a function that reads as we think the program does; it is not here to be asked."""

    def look(path: Path) -> Seen:
        session = open_session(path, agent)
        if session.refusal is not None or session.is_transcript:
            return {"listed": session.unlisted is None, "opens": False}
        document = context_document(session, session.leaf)
        context = [document[key] for key in ("messages", "model", "thinking_level")]
        return {
            "listed": session.unlisted is None,
            "opens": True,
            "name": session.name,
            "ids": [envelope.id for envelope in session.envelopes],
            "branch": list(session.active_branch()),
            "context": hashlib.sha1(json.dumps(context, default=str).encode()).hexdigest(),
        }

    return look
