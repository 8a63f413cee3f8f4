"""Random sessions with the entries on which pi, omp and atomic differ, for tests of conversions."""

from __future__ import annotations

import random
from typing import Any

from tests.support.random_trees import RandomTree

Json = dict[str, Any]
BLOB = "blob:sha256:" + "ab" * 32
_USED = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0.5}}
GONE = "blob:sha256:" + "cd" * 32


class OddTree(RandomTree):
    """A random session that also has what only its agent knows, or stores otherwise than the others."""

    def __init__(self, seed: int, agent: str = "pi", entries: int = 30) -> None:
        super().__init__(seed, agent, entries)
        dice = random.Random(f"odd {seed}")
        for one in self.entries:
            if agent == "omp" and one["type"] == "model_change":
                del one["provider"], one["modelId"]
            elif one["type"] == "model_change":
                del one["model"]
            if agent == "omp" and one["type"] == "session_info":
                one["type"] = "title_change"
                one |= {"title": one.pop("name"), "source": "user"}
            if dice.random() < 0.4:
                {"omp": _omp, "atomic": _atomic}.get(agent, _pi)(one, dice, self.ids)


def _pi(one: Json, dice: random.Random, ids: list[str]) -> None:
    message = one.get("message", {})
    match one["type"], message.get("role"):
        case "message", "assistant":
            _stop(message, dice)
            message["content"].append(dice.choice([_thinking("[Reasoning redacted]"), _thinking(""), _text()]))
            if dice.random() < 0.3:
                dice.choice([lambda: message.pop("usage"), lambda: message["usage"].pop("cost")])()
        case "message", "user" if dice.random() < 0.3:
            one["message"] = {"role": "system", "content": "be brief", "timestamp": 1}
        case "compaction", _:
            one |= dice.choice([{"fromHook": True}, {"fromExtension": 1}, {"usage": None}])
            if dice.random() < 0.3:
                one["firstKeptEntryId"] = one["id"]
        case "session_info", _:
            one.pop("name") if dice.random() < 0.4 else one.update(title="x", extra=[1])
        case "custom", _:
            one |= dice.choice(
                [
                    {"type": "context_edit", "targetId": dice.choice(ids), "replacement": None},
                    {"type": "context_edit", "targetId": dice.choice(ids), "replacement": {"content": "short"}},
                    {"type": "usage", "kind": "cache_warm", "provider": "p", "model": "m", "usage": dict(_USED)},
                    {"customType": "omp.mode_change", "data": {"_type": "mode_change", "mode": "plan"}},
                    {"customType": "atomic.x", "data": {"_type": "y"}},
                    {"type": "from_the_future", "pi": {"type": "z"}, "omp": 5},
                ]
            )
        case "model_change", _:
            one |= dice.choice([{"provider": "a/b"}, {"provider": None}, {"model": "m"}, {"role": "smol"}])


def _omp(one: Json, dice: random.Random, ids: list[str]) -> None:
    message = one.get("message", {})
    match one["type"], message.get("role"):
        case "message", "assistant":
            _stop(message, dice)
            message["content"].append({"type": "redactedThinking", "data": "opaque"})
            if dice.random() < 0.3:
                del message["usage"][dice.choice(["totalTokens", "cost"])]
        case "message", "user":
            one["message"] = dice.choice(
                [
                    {"role": "developer", "content": [_text()], "timestamp": 1},
                    {"role": "user", "content": [_image(BLOB), _image(GONE), _text()], "timestamp": 1},
                    {
                        "role": "fileMention",
                        "files": [{"path": "a", "content": "b"}, {"path": "c", "image": _image(BLOB)}],
                    },
                    {"role": "hookMessage", "customType": "h", "content": "hook", "display": True, "timestamp": 1},
                ]
            )
        case "message", "bashExecution":
            body = {"code": "1", "output": "1", "exitCode": 2, "cancelled": False, "truncated": False, "timestamp": 1}
            one["message"] = dice.choice(
                [
                    {"role": "pythonExecution", **body},
                    {"role": "pythonExecution", **body, "excludeFromContext": True},
                    message | {"images": [_image(GONE)]},
                ]
            )
        case "custom", _:
            one |= dice.choice(
                [
                    {"type": "reset_boundary"},
                    {"type": "mode_change", "mode": "plan", "data": {"a": 1}},
                    {"type": "credential_pin", "provider": "p", "hash": "h"},
                    {"type": "model_usage", "purpose": "title", "provider": "p", "model": "m", "usage": {"input": 1}},
                    {"type": "thinking_level_change", "thinkingLevel": None, "configured": "auto"},
                    {"type": "title_change", "title": "t", "trigger": "pi.session_info"},
                    {"type": "session_info", "name": "stray"},
                ]
            )
        case "model_change", _:
            one |= dice.choice([{"role": "smol"}, {"role": "default"}, {"model": "no-slash"}, {"model": "a/b/c"}])
        case "compaction", _:
            one |= dice.choice([{"fromExtension": True}, {"shortSummary": "s"}])


def _atomic(one: Json, dice: random.Random, ids: list[str]) -> None:
    match one["type"]:
        case "compaction":
            one["details"] = {"strategy": "verbatim-lines"}
            one["firstKeptEntryId"] = dice.choice([one["firstKeptEntryId"], None])
        case "custom":
            one |= {"type": "session_summary", "summary": "s", "summarizedThroughId": dice.choice(ids)}
        case "custom_message":
            one["excludeFromContext"] = True


def _stop(message: Json, dice: random.Random) -> None:
    if dice.random() < 0.4:
        message["stopReason"] = dice.choice(["aborted", "error"])


def _thinking(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "thinkingSignature": "opaque", "redacted": True}


def _text() -> Json:
    return {"type": "text", "text": "more"}


def _image(data: str) -> Json:
    return {"type": "image", "data": data, "mimeType": "image/png"}
