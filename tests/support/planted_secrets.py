"""Made-up secrets of the usual kinds with valid checksums, and a session that holds them in every place of text."""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.support.change_helpers import header, line

ALPHANUMERIC = string.ascii_letters + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
UPPER32 = string.ascii_uppercase + "234567"
URL64 = ALPHANUMERIC + "-_"
HEX = "0123456789abcdef"
Maker = Callable[[random.Random], str]


def some(letters: str, count: int) -> Maker:
    """Return a maker of random characters."""
    return lambda rng: "".join(rng.choice(letters) for _ in range(count))


def with_checksum(prefix: str) -> Maker:
    """Return a maker of tokens that end with the CRC-32 of their 30 random characters, as GitHub's and npm's do."""

    def make(rng: random.Random) -> str:
        body = some(ALPHANUMERIC, 30)(rng)
        number, digits = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            digits = BASE62[digit] + digits
        return prefix + body + digits

    return make


def private_key(rng: random.Random) -> str:
    """Return a key file of random bytes."""
    body = base64.encodebytes(rng.randbytes(300)).decode()
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----"


def web_token(rng: random.Random) -> str:
    """Return a JSON web token of random claims."""
    parts = [json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps({"sub": str(rng.random())}), None]
    coded = [
        base64.urlsafe_b64encode(part.encode() if part else rng.randbytes(32)).decode().rstrip("=") for part in parts
    ]
    return ".".join(coded)


def slack_webhook(rng: random.Random) -> str:
    """Return the address of a Slack webhook."""
    team, bot = some(UPPER32, 8)(rng), some(UPPER32, 8)(rng)
    return f"https://hooks.slack.com/services/T{team}/B{bot}/{some(ALPHANUMERIC, 24)(rng)}"


KINDS: dict[str, tuple[str, Maker]] = {
    "github": ("token {}", with_checksum("ghp_")),
    "github-oauth": ("{}", with_checksum("gho_")),
    "github-fine": ("{}", lambda rng: f"github_pat_{some(ALPHANUMERIC, 22)(rng)}_{some(ALPHANUMERIC, 59)(rng)}"),
    "npm": ("//registry/:_authToken={}", with_checksum("npm_")),
    "gitlab": ("{}", lambda rng: "glpat-" + some(URL64, 20)(rng)),
    "aws-id": ("{}", lambda rng: "AKIA" + some(UPPER32, 16)(rng)),
    "aws-secret": ("AWS_SECRET_ACCESS_KEY={}", some(ALPHANUMERIC + "/+", 40)),
    "openai": ("{}", lambda rng: f"sk-proj-{some(URL64, 60)(rng)}T3BlbkFJ{some(URL64, 60)(rng)}"),
    "anthropic": ("{}", lambda rng: f"sk-ant-api03-{some(URL64, 93)(rng)}AA"),
    "google": ("key={}", lambda rng: "AIza" + some(URL64, 35)(rng)),
    "slack-bot": (
        "{}",
        lambda rng: f"xoxb-{some(string.digits, 12)(rng)}-{some(string.digits, 12)(rng)}-{some(ALPHANUMERIC, 24)(rng)}",
    ),
    "slack-webhook": ("{}", slack_webhook),
    "stripe": ("{}", lambda rng: "sk_live_" + some(ALPHANUMERIC, 24)(rng)),
    "sendgrid": ("{}", lambda rng: f"SG.{some(URL64, 22)(rng)}.{some(URL64, 43)(rng)}"),
    "hugging-face": ("{}", lambda rng: "hf_" + some(string.ascii_letters, 34)(rng)),
    "pypi": ("{}", lambda rng: "pypi-AgEIcHlwaS5vcmc" + some(URL64, 80)(rng)),
    "web-token": ("{}", web_token),
    "private-key": ("{}", private_key),
    "url-password": ("postgres://app:{}@db.internal/main", lambda rng: "pw9" + some(ALPHANUMERIC, 11)(rng)),
    "variable": ("export DB_PASSWORD={}", lambda rng: "h4" + some(ALPHANUMERIC, 14)(rng)),
    "bearer": ("Authorization: Bearer {}", lambda rng: "7" + some(URL64, 39)(rng).strip("-_") + "z"),
    "digital-ocean": ("{}", lambda rng: "dop_v1_" + some(HEX, 64)(rng)),
}
"""The kinds of secrets: how one usually stands in text, and how it is made."""


def planted(seed: int, each: int, user: str = "marvin") -> tuple[bytes, list[tuple[str, str, str]]]:
    """Return a session with `each` secrets of every kind, and each secret with its kind and place."""
    rng = random.Random(seed)
    secrets: list[tuple[str, str, str]] = []
    lines: list[Any] = [header(cwd=f"/home/{user}/shop")]
    parent: str | None = None
    number = 0
    places = list(PLACES)
    for kind, (around, make) in KINDS.items():
        for _ in range(each):
            secret = make(rng)
            text = around.format(secret)
            place = places[number % len(places)]
            number += 1
            own = f"{number:08x}"
            one = PLACES[place](text, secret)
            lines.append({"id": own, "parentId": parent, "timestamp": "2026-08-13T08:00:00.000Z", **one})
            secrets.append((kind, place, secret))
            parent = own
    return b"".join(map(line, lines)), secrets


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return the own fields of a message's entry."""
    if role == "assistant":
        more |= {"api": "x", "provider": "x", "model": "x", "stopReason": "stop", "usage": USAGE}
    return {"type": "message", "message": {"role": role, "content": content, "timestamp": 1, **more}}


USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0}}


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that calls a tool."""
    return message("assistant", [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": arguments}])


def answer(content: Any, **more: Any) -> dict[str, Any]:
    """Return the result of a tool."""
    return message("toolResult", content, toolCallId="c1", toolName="bash", isError=False, **more)


def text_block(text: str) -> list[dict[str, str]]:
    """Return content of one text."""
    return [{"type": "text", "text": text}]


PLACES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "user": lambda text, _: message("user", f"use {text} please"),
    "user-block": lambda text, _: message("user", text_block(f"use\n{text}\nplease")),
    "name": lambda text, _: {"type": "session_info", "name": f"try {text}"},
    "argument": lambda text, _: call({"command": f"run '{text}'"}),
    "nested-json": lambda text, _: call({"body": json.dumps({"value": text})}),
    "key": lambda text, _: call({"map": {text: 1}}),
    "result": lambda text, _: answer(text_block(f"out:\n{text}\n")),
    "details": lambda text, _: answer(text_block("ok"), details={"deep": [{"output": text}]}),
    "thinking": lambda text, _: message(
        "assistant", [{"type": "thinking", "thinking": f"so {text}", "thinkingSignature": "c2ln"}, *text_block("x")]
    ),
    "signed": lambda text, _: message("assistant", [{**text_block(f"see {text}")[0], "textSignature": "msg_1"}]),
    "path": lambda text, secret: answer(text_block("ok"), details={"fullOutputPath": f"/tmp/{text}/out.log"}),
    "base64": lambda text, _: answer(text_block(base64.b64encode(text.encode()).decode())),
    "summary": lambda text, _: {"type": "branch_summary", "fromId": "root", "summary": f"we had {text} there"},
    "custom": lambda text, _: {"type": "custom", "customType": "notes", "data": {"list": ["a", text]}},
    "label": lambda text, _: {"type": "label", "targetId": "00000001", "label": text},
    "bash": lambda text, _: {
        "type": "message",
        "message": {"role": "bashExecution", "command": f"echo {text}", "output": "", "exitCode": 0, "timestamp": 1},
    },
    "split": lambda text, secret: answer(
        [
            *text_block(text[: text.index(secret) + len(secret) // 2]),
            *text_block(text[text.index(secret) + len(secret) // 2 :]),
        ]
    ),
}
"""The places of a session in which a text can stand."""


def forms(secret: str) -> list[str]:
    """Return a secret in every encoding that the file could hold."""
    once = json.dumps(secret)[1:-1]
    coded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return [secret, once, json.dumps(once)[1:-1], quote(secret), quote(secret, safe=""), coded]
