"""Secrets in every place of a session are masked, or nothing is written."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.redact import redact, review_secrets, suspects_in
from sessionbrowse.services.clean.secret_detector import SecretDetector
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import CONVERSATION, Store, header, line, user
from tests.support.planted_secrets import KINDS, PLACES, forms, planted
from tests.support.random_trees import RandomTree

pytestmark = pytest.mark.slow

pytest.importorskip("kingfisher_sdk", reason="the optional package is not installed")

EACH = 20
PEOPLE = ("home-directory", "user-name")
LEAST_MASKED = 0.97


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> SecretDetector:
    """The detector with one pattern of the user's own."""
    return SecretDetector(str(tmp_path_factory.mktemp("rules")), [r"ticket-(\d{5})"], ["zaphod"])


def masked(folder: Path, content: bytes, detector: SecretDetector, keep: str | None = None) -> bytes:
    """Return the masked copy of a session."""
    store = Store(folder)
    path = store.session()
    path.write_bytes(content)
    review = review_secrets(Target(str(path), "pi"), detector)
    to = folder / "copy.jsonl"
    target = Target(str(path), "pi")
    redact(target, review, lambda one: one.mask.secret != keep, Where(to=str(to)), context=store.context)
    return to.read_bytes()


def test_planted_secrets_are_masked_in_every_place_and_encoding(tmp_path: Path, detector: SecretDetector):
    content, secrets = planted(1, EACH)
    copy = masked(tmp_path, content, detector).decode()
    missed = [(kind, place) for kind, place, secret in secrets if any(form in copy for form in forms(secret))]
    print(
        f"{len(secrets) - len(missed)} of {len(secrets)} secrets of {len(KINDS)} kinds in {len(PLACES)} places masked"
    )
    assert len(secrets) >= 400
    assert len(KINDS) >= 20
    assert 1 - len(missed) / len(secrets) >= LEAST_MASKED, missed
    assert "marvin" not in copy


def test_a_masked_copy_opens_with_the_same_entries(tmp_path: Path, detector: SecretDetector):
    content, _ = planted(2, 2)
    (tmp_path / "was.jsonl").write_bytes(content)
    masked(tmp_path, content, detector)
    before, after = (open_session(str(tmp_path / name), "pi") for name in ("was.jsonl", "copy.jsonl"))
    assert (after.ids, after.parents, after.leaf) == (before.ids, before.parents, before.leaf)


def test_the_same_secret_has_the_same_mask_everywhere(tmp_path: Path, detector: SecretDetector):
    secret = "glpat-Ab3dEf6hIj9kLm2nOp5q"
    coded = base64.b64encode(secret.encode()).decode()
    texts = [f"it is {secret}", f"x={secret}&y", f"again {coded}", json.dumps({"a": secret})]
    lines = [user(f"{at:08x}", f"{at - 1:08x}" if at else None, text) for at, text in enumerate(texts)]
    copy = masked(tmp_path, b"".join(map(line, [header(), *lines])), detector).decode()
    assert secret not in copy
    assert coded not in copy
    assert len(set(re.findall(r"\[[a-z.-]+-?[\d.]*-\d+\]", copy))) == 1


def test_own_patterns_names_and_home_directories_are_masked(tmp_path: Path, detector: SecretDetector):
    lines = [header(cwd="/home/zaphod/x"), user("00000000", None, "ticket-12345 of Zaphod: zaphod, /Users/trillian/a")]
    copy = masked(tmp_path, b"".join(map(line, lines)), detector).decode()
    for gone in ("12345", "zaphod", "trillian"):
        assert gone not in copy
    assert "ticket-[own-pattern-1]" in copy


def test_names_that_are_words_of_the_format_break_no_line(tmp_path: Path, detector: SecretDetector):
    entries = [
        header(cwd="/home/output/x"),
        {"type": "session_info", "id": "00000001", "parentId": None, "timestamp": "x", "name": "output and bash"},
        user("00000002", "00000001", "of /home/bash and /home/message"),
        {
            "type": "custom",
            "id": "00000003",
            "parentId": "00000002",
            "customType": "x",
            "data": {"output": {"bash": 1}},
        },
    ]
    content = b"".join(map(line, entries))
    copy = [json.loads(one) for one in masked(tmp_path, content, detector).splitlines()]
    assert [one["type"] for one in copy] == ["session", "session_info", "message", "custom"]
    assert copy[1]["name"] == "user and user2"
    assert list(copy[2]["message"]) == list(entries[2]["message"])
    assert copy[3]["data"] == {"user": {"user2": 1}}


def test_a_kept_secret_stays(tmp_path: Path, detector: SecretDetector):
    content, secrets = planted(3, 1)
    kept = next(secret for kind, _, secret in secrets if kind == "stripe")
    assert kept.encode() in masked(tmp_path, content, detector, keep=kept)


def test_signatures_never_stay_on_changed_or_sealed_content(tmp_path: Path, detector: SecretDetector):
    secret = "glpat-Ab3dEf6hIj9kLm2nOp5q"
    sealed = base64.b64encode(bytes(range(90))).decode()
    content = [
        {"type": "thinking", "thinking": "a", "thinkingSignature": sealed},
        {"type": "text", "text": f"see {secret}", "textSignature": "msg_1"},
        {"type": "toolCall", "id": "call_1|fc_2", "name": "x", "arguments": {}, "thoughtSignature": "abc"},
    ]
    said = {"role": "assistant", "content": content, "api": "x", "provider": "x", "model": "x", "timestamp": 1}
    answer = {"role": "toolResult", "toolCallId": "call_1|fc_2", "toolName": "x", "content": [], "timestamp": 1}
    lines = [
        header(),
        user("00000001", None, "hi"),
        {"type": "message", "id": "00000002", "parentId": "00000001", "timestamp": "x", "message": said},
        {"type": "message", "id": "00000003", "parentId": "00000002", "timestamp": "x", "message": answer},
    ]
    copy = masked(tmp_path, b"".join(map(line, lines)), detector).decode()
    for gone in ("ignature", "fc_2", secret, sealed):
        assert gone not in copy
    assert copy.count('"call_1"') == 2


def test_an_unusual_line_hides_no_secret(tmp_path: Path, detector: SecretDetector):
    secret = "glpat-Ab3dEf6hIj9kLm2nOp5q"
    twice = line(user("00000001", None, "hi")).replace(b'"hi"', f'"{secret}","content":"x"'.encode())
    escaped = line(user("00000002", "00000001", secret)).replace(b"glpat", b"\\u0067lpat")
    copy = masked(tmp_path, line(header()) + twice + escaped + f'{{"torn":"{secret}'.encode(), detector)
    assert b"Ab3dEf6hIj9kLm2nOp5q" not in copy
    assert b"00000001" in copy


def test_nothing_is_written_when_the_session_changed_or_the_search_fails(
    tmp_path: Path, detector: SecretDetector, monkeypatch: pytest.MonkeyPatch
):
    store = Store(tmp_path)
    path = store.session()
    to = tmp_path / "copy.jsonl"
    target = Target(str(path), "pi")
    review = review_secrets(target, detector)
    with path.open("ab") as file:
        file.write(line(user("ffffffff", "00000001", "more")))
    with pytest.raises(ChangedMeanwhile):
        redact(target, review, lambda _: True, Where(to=str(to)), context=store.context)
    with pytest.raises(RefusedWrite, match="pattern"):
        SecretDetector(str(tmp_path / "rules"), ["("])

    class Broken:
        def scan(self, content: bytes) -> None:
            raise RuntimeError("no")

    monkeypatch.setattr(detector, "_scanner", Broken())
    with pytest.raises(RefusedWrite, match="failed"):
        review_secrets(target, detector)
    assert not to.exists()


def test_ordinary_sessions_raise_no_alarm(detector: SecretDetector):
    contents = [RandomTree(seed, "pi", 60).content() for seed in range(60)] + [b"".join(map(line, CONVERSATION))]
    alarms = [one for content in contents for one in suspects_in(content, detector) if one.mask.kind not in PEOPLE]
    size = sum(map(len, contents)) / 1_000_000
    print(f"{len(alarms)} alarms in {size:.1f} MB")
    assert not alarms


def test_real_sessions_raise_less_than_one_false_alarm_in_a_megabyte(corpus: Path, detector: SecretDetector):
    """Every alarm counts as false: no secret of the corpus is known."""
    files = sorted(corpus.rglob("*.jsonl"))
    alarms = [
        (path.name, one.mask.kind)
        for path in files
        for one in suspects_in(path.read_bytes(), detector)
        if one.mask.kind not in PEOPLE
    ]
    size = sum([path.stat().st_size for path in files]) / 1_000_000
    print(f"{len(alarms)} alarms in {size:.1f} MB of real sessions")
    assert len(alarms) < size, alarms
