"""The real pi and omp build the same contexts from our clean copies as from the originals (`make interop`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import NothingStays
from sessionbrowse.model.clean.masker import Mask, Masker
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.services.clean.clean import Cleaned, MakePlan, Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.write_checks import Target
from tests.interop import real
from tests.interop.manage import ask_manager
from tests.support.random_trees import RandomTree

pytestmark = pytest.mark.interop

Json = Any
MANY = {"pi": 2500, "omp": 2000}
PROGRAMS = [
    (agent, version, MANY[agent] if version in (real.PI_NEWEST, real.OMP) else 1000) for agent, version in real.PROGRAMS
]
SHRUNK = 850
_CUT = 500


def context_at(folder: Path) -> ChangeContext:
    """Return a change context that knows nothing of this machine."""
    around = Surroundings(home=str(folder / "home"), environ={}, cwd=str(folder))
    return ChangeContext.at(around, str(folder / "state" / "sessionbrowse"), lambda: 1_900_000_000_000.0)


def made(folder: Path, tree: RandomTree, agent: str, number: int, plan: MakePlan) -> tuple[Path, Cleaned | None]:
    """Write a tree and its copy; None if no message would stay."""
    here = folder / f"{number:05}"
    (here / "copy").mkdir(parents=True)
    path = here / "session.jsonl"
    path.write_bytes(tree.content())
    try:
        where = Where(to=str(here / "copy" / "session.jsonl"))
        return path, clean_session(Target(str(path), agent), "prune", plan, where, context=context_at(folder))
    except NothingStays:
        return path, None


def asked(program: tuple[str, str, int], paths: list[str], scratch: Path, full: bool = False) -> list[Json]:
    """Return what the program says of each file, its contexts in full on request."""
    try:
        requests = [{"op": "contexts", "file": path, "full": full} for path in paths]
        return ask_manager(program[0], program[1], requests, scratch)
    except real.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program[0]}-{program[1]}")
def test_pruned_copies_keep_every_context(program: tuple[str, str, int], tmp_path: Path):
    pairs: list[tuple[str, Cleaned, RandomTree]] = []
    refused = 0
    for seed in range(program[2]):
        tree = RandomTree(seed, program[0], 25)
        plan = branches_plan(tree.some_entries())
        if seed % 5 == 0:
            plan = branches_plan((), all_abandoned=True, keep_labelled=seed % 2 == 0)
        path, done = made(tmp_path, tree, program[0], seed, plan)
        if done is None:
            refused += 1
        else:
            pairs.append((str(path), done, tree))
    answers = asked(program, [one for path, done, _ in pairs for one in (path, str(done.to))], tmp_path)
    entries = 0
    for (name, done, _), before, after in zip(pairs, answers[::2], answers[1::2], strict=True):
        assert "error" not in before, (name, before)
        assert "error" not in after, (name, after)
        kept = [one for one in before["contexts"] if one in after["contexts"]]
        assert len(kept) == done.preview.kept_entries, name
        entries += len(kept)
        for one in kept:
            assert before["contexts"][one] == after["contexts"][one], (name, one)
        assert after["labels"] == {one: label for one, label in before["labels"].items() if one in kept}, name
        assert after["name"] == before["name"], name
        staying = [one for one in before["active"] if one in kept]
        if staying:
            assert done.preview.leaf_id == staying[-1], name
        assert done.preview.leaf_id in after["active"], name
    print(f"{program[0]} {program[1]}: {len(pairs)} trees, {entries} entries, {refused} refused")
    assert len(pairs) > program[2] * 0.7


def replaced(message: Json, thinking: bool) -> Json:
    """Return a message as a shrunk copy has it: images, long outputs and, on request, reasoning are taken away."""
    content = message.get("content")
    if message["role"] == "toolResult":
        message = {key: value for key, value in message.items() if key != "details"}
        message["toolCallId"] = message["toolCallId"].split("|")[0]
    if isinstance(content, list):
        blocks = []
        for block in content:
            if block["type"] == "image" or (message["role"] == "toolResult" and len(block.get("text", "")) > _CUT):
                block = {"type": "text", "text": "…"}
            if message["role"] == "assistant" and block["type"] == "thinking" and thinking and len(content) > 1:
                continue
            drop = ("textSignature",)
            blocks.append({key: value for key, value in block.items() if key not in drop})
            if "id" in block:
                blocks[-1]["id"] = block["id"].split("|")[0]
        message = {**message, "content": blocks}
    if message["role"] == "bashExecution" and len(message["output"]) > _CUT:
        message = {**message, "output": "…"}
    return message


def is_only_thinking(message: Json) -> bool:
    """Tell whether an answer has reasoning only."""
    content = message.get("content")
    return message["role"] == "assistant" and all(block["type"] == "thinking" for block in content)


def without_placeholders(message: Json) -> Json:
    """Return a message of a shrunk copy with one sign for each text that stands for what was removed."""
    if message["role"] == "bashExecution" and message["output"].startswith("[output removed: "):
        return {**message, "output": "…"}
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [{"type": "text", "text": "…"} if " removed: " in block.get("text", "") else block for block in content]
    return {**message, "content": blocks}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program[0]}-{program[1]}")
def test_shrunk_copies_have_the_same_contexts_with_the_replacement(program: tuple[str, str, int], tmp_path: Path):
    pairs = []
    for seed in range(SHRUNK):
        tree = RandomTree(seed, program[0], 25)
        plan = shrink_plan(images=True, results_over=_CUT, thinking=seed % 2 == 0)
        path, done = made(tmp_path, tree, program[0], seed, plan)
        assert done is not None
        pairs.append((str(path), str(done.to), seed % 2 == 0))
    answers = asked(program, [one for path, to, _ in pairs for one in (path, to)], tmp_path, full=True)
    compared = 0
    for (name, _, thinking), before, after in zip(pairs, answers[::2], answers[1::2], strict=True):
        assert list(before["contexts"]) == list(after["contexts"]), name
        for one, context in before["contexts"].items():
            # Without its unanswered calls, which omp drops, an answer may have only reasoning, or nothing, left.
            context = [message for message in context if not is_only_thinking(message)]
            other = [message for message in after["contexts"][one] if not is_only_thinking(message)]
            assert len(other) == len(context), (name, one)
            for was, now in zip(context, other, strict=True):
                # A kept signature or reasoning of the last turn stays as it was.
                now = without_placeholders(now)
                wanted = [json.dumps(replaced(was, each), sort_keys=True) for each in (thinking, False)]
                assert json.dumps(replaced(now, False), sort_keys=True) in wanted, (name, one)
                compared += 1
    print(f"{program[0]} {program[1]}: {compared} messages")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program[0]}-{program[1]}")
def test_masked_copies_have_the_same_contexts_with_the_masks(program: tuple[str, str, int], tmp_path: Path):
    words = ("alpha", "plain words", "日本語")
    masks = [Mask("word", word, f"[word-{number}]") for number, word in enumerate(words)]
    masker = Masker(masks)
    pairs = []
    for seed in range(SHRUNK):
        tree = RandomTree(seed, program[0], 25)
        path, done = made(tmp_path, tree, program[0], seed, lambda session: CleanPlan(masker=masker))
        assert done is not None
        pairs.append((str(path), str(done.to)))
    answers = asked(program, [one for pair in pairs for one in pair], tmp_path, full=True)
    compared = masked = 0
    for (name, _), before, after in zip(pairs, answers[::2], answers[1::2], strict=True):
        assert list(before["contexts"]) == list(after["contexts"]), name
        for one, context in before["contexts"].items():
            assert len(context) == len(after["contexts"][one]), (name, one)
            for was, now in zip(context, after["contexts"][one], strict=True):
                was_text, now_text = (
                    json.dumps(unsigned(message), sort_keys=True, ensure_ascii=False) for message in (was, now)
                )
                masked += "[word-" in now_text
                for mask in masks:
                    was_text = was_text.replace(mask.secret, mask.text)
                assert now_text == was_text, (name, one)
                compared += 1
    print(f"{program[0]} {program[1]}: {compared} messages, {masked} with masks")
    assert masked


def unsigned(message: Json) -> Json:
    """Return a message without signatures and what refers to them, which a masked copy may lose."""
    message = dict(message)
    if "toolCallId" in message:
        message["toolCallId"] = message["toolCallId"].split("|")[0]
    content = message.get("content")
    if isinstance(content, list):
        blocks = []
        for block in content:
            blocks.append({key: value for key, value in block.items() if not key.endswith("ignature")})
            if "id" in block:
                blocks[-1]["id"] = block["id"].split("|")[0]
        message["content"] = blocks
    return message
