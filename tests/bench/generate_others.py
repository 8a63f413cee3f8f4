"""Made-up sessions of Claude Code and Codex: their directories and lines, by the shares that `figures` has of them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any, BinaryIO

from tests.bench import figures, words
from tests.bench.generate import DAYS, LAST_DAY_MS, Sizes, iso, session_id

CLAUDE_SHARE = 0.6
"""Of the sessions, 3,000 of 5,000 are of Claude Code."""


def make_others(home: Path, sessions: int, size: int, seed: int, projects: list[str]) -> int:
    """Write sessions of about `size` bytes in all below a home directory, one for each project; return the bytes."""
    rng = random.Random(f"others {seed} {sessions} {size}")
    sizes = Sizes(rng)
    drawn = [figures.BYTES_PER_SESSION.at((index + 0.5) / sessions) for index in range(sessions)]
    rng.shuffle(drawn)
    factor = size / sum(drawn)
    written = wanted = 0
    for number, (project, part) in enumerate(zip(projects, drawn, strict=True)):
        wanted += round(part * factor)
        target = max(round(part * factor) // 2, wanted - written)
        made = (_Claude if number < sessions * CLAUDE_SHARE else _Codex)(rng, sizes, project, target)
        path = home / made.place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb", buffering=1 << 20) as file:
            written += made.write(file)
        os.utime(path, (made.now / 1000, made.now / 1000))
    return written


class _Session:
    """One session: texts of random length, and a clock. `place` is its path below the home directory."""

    place: str

    def __init__(self, rng: random.Random, sizes: Sizes, project: str, target: int) -> None:
        self._rng, self._sizes, self._target = rng, sizes, target
        self._most = max(400, target // 3)
        self._prose = words.foreign() if rng.random() < figures.TEXTS_WITH_CJK else words.prose()
        self.now = LAST_DAY_MS - int((3 + rng.random() * DAYS) * 86_400_000)
        self._id = session_id(rng, self.now)
        self._cwd = f"/home/dev/projects/{project}"
        self._bytes = 0

    def write(self, file: BinaryIO) -> int:
        """Write the session, and return its size."""
        self._file = file
        self._begin()
        self._turn(self._sizes.first_user())
        while self._bytes < self._target:
            self._turn(self._sizes.user())
        return self._bytes

    def _begin(self) -> None:
        pass

    def _turn(self, size: int) -> None:
        raise NotImplementedError

    def _put(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._bytes += len(line) + 1

    def _happens(self, count: float, of: float) -> int:
        """Return how often something happens: `count` times in `of`, on average."""
        whole, rest = divmod(count / of, 1)
        return int(whole) + (self._rng.random() < rest)

    def _text(self, size: int, river: bytes | None = None) -> bytes:
        river = river if river is not None else self._prose
        size = min(self._most, size)
        return words.piece(river, int(self._rng.random() * (len(river) - 2 * size - 400)), size) if size else b""

    def _output(self) -> bytes:
        return self._text(self._sizes.result(), words.output())

    def _noise(self, size: int) -> bytes:
        start = int(self._rng.random() * (len(words.noise()) - size))
        return words.noise()[start : start + size]

    def _tokens(self) -> tuple[int, int]:
        return round(figures.TOKENS.at(self._rng.random())), self._rng.randrange(20, 2000)


class _Claude(_Session):
    def __init__(self, rng: random.Random, sizes: Sizes, project: str, target: int) -> None:
        super().__init__(rng, sizes, project, target)
        self._last: bytes = b"null"
        self._title = " ".join(rng.sample(words.COMMON, 4)).encode()
        self.place = f".claude/projects/{self._cwd.replace('/', '-')}/{self._id}.jsonl"

    def _record(self, kind: bytes, body: bytes, parent: bytes | None = None) -> bytes:
        """Write a record below the one before, and return its id."""
        self.now += self._sizes.gap() // 2
        uuid = b'"%08x-0000-4000-8000-%012x"' % (self._rng.getrandbits(32), self._rng.getrandbits(48))
        self._put(
            b'{"parentUuid":%b,"isSidechain":false,"userType":"external","cwd":"%b","sessionId":"%b","version":"2.1.91",'
            b'"gitBranch":"main","type":"%b",%b,"uuid":%b,"timestamp":"%b"}'
            % (parent or self._last, self._cwd.encode(), self._id.encode(), kind, body, uuid, iso(self.now))
        )
        self._last = uuid
        return uuid

    def _turn(self, size: int) -> None:
        prompt = self._text(size) or b"go on"
        for kind, count in figures.CLAUDE_STATE_LINES.items():
            for _ in range(self._happens(count, figures.CLAUDE_PROMPTS)):
                self._put(self._state(kind, prompt))
        self._record(b"user", b'"message":{"role":"user","content":"%b"}' % prompt)
        for number in range(self._happens(figures.CLAUDE_ANSWERS, figures.CLAUDE_PROMPTS) or 1):
            self._answer(is_last=number == figures.CLAUDE_ANSWERS // figures.CLAUDE_PROMPTS - 1)
        for _ in range(self._happens(figures.CLAUDE_BESIDE["system"], figures.CLAUDE_PROMPTS)):
            self._record(b"system", b'"subtype":"turn_duration","durationMs":61234,"isMeta":false')
        if self._rng.random() < figures.CLAUDE_COMPACTIONS / figures.CLAUDE_PROMPTS:
            metadata = b'{"trigger":"auto","preTokens":%d}' % self._rng.randrange(100_000, 190_000)
            body = b'"subtype":"compact_boundary","logicalParentUuid":%b,"compactMetadata":%b'
            self._record(b"system", body % (self._last, metadata), b"null")
            summary = self._text(self._sizes.summary())
            self._record(b"user", b'"isCompactSummary":true,"message":{"role":"user","content":"%b"}' % summary)

    def _state(self, kind: str, prompt: bytes) -> bytes:
        extra = {
            "file-history-snapshot": b'"messageId":"%b","snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false',
            "last-prompt": b'"lastPrompt":"'
            + prompt[:200].rpartition(b" ")[0].replace(b"%", b"")
            + b'","sessionId":"%b"',
            "permission-mode": b'"permissionMode":"default","sessionId":"%b"',
            "ai-title": b'"aiTitle":"' + self._title + b'","sessionId":"%b"',
            "mode": b'"mode":"normal","sessionId":"%b"',
        }[kind]
        return b'{"type":"%b",' % kind.encode() + extra % self._id.encode() + b"}"

    def _answer(self, *, is_last: bool) -> None:
        rng, blocks = self._rng, []
        counts = {kind: self._happens(count, figures.CLAUDE_ANSWERS) for kind, count in figures.CLAUDE_BLOCKS.items()}
        for _ in range(counts["thinking"]):
            size, signature = self._sizes.thinking()
            thought = b"" if rng.random() < figures.CLAUDE_EMPTY_THINKING else self._text(size)
            blocks.append(b'{"type":"thinking","thinking":"%b","signature":"%b"}' % (thought, self._noise(signature)))
        for _ in range(counts["text"] or is_last):
            blocks.append(b'{"type":"text","text":"%b"}' % (self._text(self._sizes.assistant()) or b"Done."))
        calls = [b"toolu_%024x" % rng.getrandbits(96) for _ in range(0 if is_last else counts["tool_use"])]
        for call in calls:
            blocks.append(b'{"type":"tool_use","id":"%b","name":"%b","input":{%b}}' % (call, *self._given()))
        self._blocks(blocks)
        for kind in ("progress", "attachment"):
            for _ in range(self._happens(figures.CLAUDE_BESIDE[kind], figures.CLAUDE_ANSWERS)):
                told = b'{"type":"hook_%b","hookName":"PostToolUse:Bash","command":"hooks/after.sh","content":""}'
                field = b'"data":' if kind == "progress" else b'"attachment":'
                self._record(kind.encode(), field + told % kind.encode())
        for call in calls:
            text = self._output()
            # The program keeps each result a second time, for its screen.
            result = b'{"tool_use_id":"%b","type":"tool_result","content":"%b","is_error":false}' % (call, text)
            beside = b'"toolUseResult":{"stdout":"%b","stderr":"","interrupted":false,"isImage":false}' % text
            self._record(b"user", b'"message":{"role":"user","content":[%b]},%b' % (result, beside))

    def _given(self) -> tuple[bytes, bytes]:
        """Return a tool and its arguments: files for long ones, as in pi's sessions (see `generate`)."""
        size, path = self._sizes.arguments(), b'"file_path":"%b/%b.py"' % (self._cwd.encode(), self._title[:8])
        if size < figures.SHORT_CALL:
            return b"Read", path
        text = self._text(size, words.output())
        if size < figures.COMMAND_CALL:
            return b"Bash", b'"command":"%b","description":"Run it"' % text
        return b"Write", path + b',"content":"%b"' % text

    def _blocks(self, blocks: list[bytes]) -> None:
        """Write the blocks of an answer, one in a line, each with the answer's id and the tokens so far."""
        total, output = self._tokens()
        message = b"msg_%024x" % self._rng.getrandbits(96)
        for number, block in enumerate(blocks):
            so_far = output if number == len(blocks) - 1 else 1
            usage = b'{"input_tokens":10,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,' % (
                total // 10,
                total - total // 10,
            )
            usage += b'"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":%d},' % (total // 10)
            usage += b'"output_tokens":%d,"service_tier":"standard"}' % so_far
            self._record(
                b"assistant",
                b'"message":{"model":"claude-opus-4-5-20251101","id":"%b","type":"message","role":"assistant","content":'
                b'[%b],"stop_reason":null,"stop_sequence":null,"usage":%b},"requestId":"req_%b"'
                % (message, block, usage, message[4:]),
            )


class _Codex(_Session):
    def __init__(self, rng: random.Random, sizes: Sizes, project: str, target: int) -> None:
        super().__init__(rng, sizes, project, target)
        self._total = [0, 0, 0]
        day, moment = iso(self.now).decode()[:10], iso(self.now).decode()[:19].replace(":", "-")
        self.place = f".codex/sessions/{day.replace('-', '/')}/rollout-{moment}-{self._id}.jsonl"

    def _line(self, kind: bytes, payload: bytes) -> None:
        self.now += self._sizes.gap() // 4
        self._put(b'{"timestamp":"%b","type":"%b","payload":{%b}}' % (iso(self.now), kind, payload))

    def _item(self, payload: bytes) -> None:
        self._line(b"response_item", payload)

    def _event(self, payload: bytes) -> None:
        self._line(b"event_msg", payload)

    def _begin(self) -> None:
        meta: dict[str, Any] = {"id": self._id, "timestamp": iso(self.now).decode(), "cwd": self._cwd}
        meta |= {"originator": "codex_cli_rs", "cli_version": "0.126.0", "source": "cli", "model_provider": "openai"}
        instructions = self._text(min(figures.CODEX_INSTRUCTIONS, self._target // 4), words.prose())
        told = json.dumps(meta).encode()[1:-1] + b',"base_instructions":{"text":"%b"}'
        self._line(b"session_meta", told.replace(b"%b", instructions))
        context = b"<environment_context>\\n  <cwd>%b</cwd>\\n</environment_context>" % self._cwd.encode()
        self._message(b"user", b"input_text", context)

    def _message(self, role: bytes, kind: bytes, text: bytes) -> None:
        self._item(b'"type":"message","role":"%b","content":[{"type":"%b","text":"%b"}]' % (role, kind, text))

    def _turn(self, size: int) -> None:
        prompts, calls = figures.CODEX_PROMPTS, figures.CODEX_CALLS
        for _ in range(self._happens(figures.CODEX_TURN_CONTEXTS, prompts)):
            policy = b'"approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"gpt-5.4"'
            self._line(b"turn_context", b'"cwd":"%b",%b,"summary":"auto"' % (self._cwd.encode(), policy))
        has_turns = self._happens(figures.CODEX_TURNS, prompts)
        if has_turns:
            self._event(b'"type":"task_started","turn_id":"%b","model_context_window":258400' % self._id.encode())
        prompt = self._text(size) or b"go on"
        self._message(b"user", b"input_text", prompt)
        self._event(b'"type":"user_message","message":"%b","images":[],"local_images":[]' % prompt)
        for _ in range(self._happens(calls, prompts)):
            self._reason()
            if self._happens(figures.CODEX_TEXTS - prompts, calls):
                self._say()
            self._call()
            self._count()
        self._say()
        self._count()
        if has_turns:
            self._event(b'"type":"task_complete","turn_id":"%b","last_agent_message":null' % self._id.encode())

    def _reason(self) -> None:
        if not self._happens(figures.CODEX_REASONING, figures.CODEX_CALLS):
            return
        size, signature = self._sizes.thinking()
        shown = self._happens(figures.CODEX_REASONING_EVENTS, figures.CODEX_REASONING)
        text = self._text(min(size, 400)) if shown else b""
        if text:
            self._event(b'"type":"agent_reasoning","text":"%b"' % text)
        summary = b'{"type":"summary_text","text":"%b"}' % text if text else b""
        encrypted = self._noise(max(400, signature))
        self._item(b'"type":"reasoning","summary":[%b],"content":null,"encrypted_content":"%b"' % (summary, encrypted))

    def _say(self) -> None:
        text = self._text(self._sizes.assistant()) or b"Done."
        self._event(b'"type":"agent_message","message":"%b"' % text)
        self._message(b"assistant", b"output_text", text)

    def _call(self) -> None:
        call = b"call_%024x" % self._rng.getrandbits(96)
        size = self._sizes.arguments()
        text, kind = self._text(size, words.output()), b"function_call"
        if size < figures.COMMAND_CALL:
            given = json.dumps({"cmd": json.loads(b'"%b"' % text), "workdir": self._cwd}, ensure_ascii=False)
            told = b'"name":"exec_command","arguments":%b' % json.dumps(given, ensure_ascii=False).encode()
        else:
            kind, told = b"custom_tool_call", b'"name":"apply_patch","input":"*** Begin Patch\\n%b"' % text
        self._item(b'"type":"%b",%b,"call_id":"%b"' % (kind, told, call))
        output = self._output()
        if self._happens(figures.CODEX_COMMAND_ENDS, figures.CODEX_CALLS):
            self._event(
                b'"type":"exec_command_end","call_id":"%b","command":["/bin/zsh","-lc","%b"],"stdout":"","stderr":"",'
                b'"aggregated_output":"%b","exit_code":0,"formatted_output":""' % (call, text, output)
            )
        if self._happens(figures.CODEX_PATCH_ENDS, figures.CODEX_CALLS):
            self._event(b'"type":"patch_apply_end","call_id":"%b","stdout":"Success","stderr":"","success":true' % call)
        told = b"Wall time: 0.1 seconds\\nProcess exited with code 0\\nOutput:\\n" + output
        self._item(b'"type":"%b_output","call_id":"%b","output":"%b"' % (kind, call, told))

    def _count(self) -> None:
        counts = figures.CODEX_TOKEN_COUNTS * (1 - figures.CODEX_SAME_TOTALS)
        if self._happens(counts, figures.CODEX_CALLS + figures.CODEX_PROMPTS):
            given, output = self._tokens()
            last = [given, given * 9 // 10, output]
            self._total = [total + one for total, one in zip(self._total, last, strict=True)]
            self._told = self._usage(self._total), self._usage(last)
        repeated = self._happens(figures.CODEX_SAME_TOTALS, 1 - figures.CODEX_SAME_TOTALS)
        for _ in range(1 + repeated if any(self._total) else 0):
            info = b'{"total_token_usage":%b,"last_token_usage":%b,"model_context_window":258400}' % self._told
            limits = b'"primary":null,"secondary":null,"credits":null,"plan_type":"team"'
            self._event(b'"type":"token_count","info":%b,"rate_limits":{"limit_id":"codex",%b}' % (info, limits))

    @staticmethod
    def _usage(counts: list[int]) -> bytes:
        given, cached, output = counts
        return (
            b'{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}'
            % (given, cached, output, output // 2, given + output)
        )
