"""Make a copy of a session with secrets and personal names masked, after the user reviewed all that were found."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite
from sessionbrowse.format.json_value import BadJson, Json, is_deep, loads
from sessionbrowse.model.clean.masker import Mask, Masker, neighbours, strings, unpacked
from sessionbrowse.model.clean.plan import CleanPlan, CopyPreview, Removed
from sessionbrowse.services.clean.clean import Cleaned, Where, clean_session, create_copy, new_path
from sessionbrowse.services.clean.secret_detector import SecretAt, SecretDetector
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.read.content import closing, open_regular, program_of
from sessionbrowse.store.read.translation import own_content, translate
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.store.write.writer import opened
from sessionbrowse.text import clean, plural

_AROUND = 40
_NEARBY = 8192
_SHOWN = 4
"""Number of characters of a secret that the review shows; the rest is hidden."""
_JOINED = 400
_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_LEAST = 6
_PEOPLE = {"home-directory": "/home/user", "user-name": "user"}


class Suspect(Struct, frozen=True):
    """A distinct secret found in a session: its mask, and how often it occurs (`count`).

    `line` is the number of the line in which the secret occurs first; `before` and `after` are the texts around it.
    """

    mask: Mask
    count: int
    line: int
    before: str
    after: str


class Review(Struct, frozen=True):
    """All secrets and personal names found in a session, and the file's fingerprint during the search (`seen`)."""

    suspects: tuple[Suspect, ...]
    seen: Fingerprint


def review_secrets(target: Target, detector: SecretDetector) -> Review:
    """Search a session for secrets, home directories and user names; nothing is changed.

    Raises:
        RefusedWrite: the session is damaged, or the search failed.
    """
    with opened(target, only_copied=True) as file:
        content = own_content(file.path, file.descriptor, file.found.size)
        return Review(suspects_in(content, detector), file.found)


def suspects_in(content: bytes, detector: SecretDetector) -> tuple[Suspect, ...]:
    """Return the secrets and personal names in the lines of a session, each distinct one once, with its mask."""
    first: dict[tuple[bool, str], tuple[SecretAt, int, str]] = {}
    counts: Counter[tuple[bool, str]] = Counter()
    for number, line in enumerate(content.split(b"\n"), 1):
        for found, text in _found(line, number, detector):
            key = found.kind == "user-name", found.secret
            first.setdefault(key, (found, number, text))
            counts[key] += 1
    numbers: Counter[str] = Counter()
    masks = {}
    for key, (found, _, _) in first.items():
        numbers[found.kind] += 1
        masks[key] = Mask(found.kind, found.secret, _mask_text(found.kind, numbers[found.kind]), is_word=key[0])
    hide = _hiding([mask for mask in masks.values() if mask.kind not in _PEOPLE])
    suspects = []
    for key, (found, number, text) in first.items():
        end = found.start + len(found.secret)
        before = hide(text[max(0, found.start - _NEARBY) : found.start])[-_AROUND:]
        after = hide(text[end : end + _NEARBY])[:_AROUND]
        suspects.append(Suspect(masks[key], counts[key], number, before, after))
    return tuple(suspects)


def _hiding(masks: Sequence[Mask]) -> Callable[[str], str]:
    """Return a function that masks the given secrets in a text, used for the text shown around another secret."""
    text_of = {mask.secret: mask.text for mask in masks}
    if not text_of:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(secret) for secret in sorted(text_of, key=len, reverse=True)))
    return lambda text: pattern.sub(lambda match: text_of[match[0]], text)


def context_of(suspect: Suspect) -> str:
    """Return the text around a secret's first occurrence as one line; only the secret's first characters are shown."""
    secret = suspect.mask.secret
    shown = secret if suspect.mask.kind in _PEOPLE else f"{secret[:_SHOWN]}…({len(secret)} characters)"
    return " ".join(clean(f"{suspect.before}»{shown}«{suspect.after}").split())


def redact(
    target: Target,
    review: Review,
    is_accepted: Callable[[Suspect], bool],
    where: Where,
    *,
    dry_run: bool = False,
    context: ChangeContext | None = None,
) -> Cleaned:
    """Write a copy of a session with the accepted secrets masked everywhere.

    Raises:
        ChangedMeanwhile: the session changed since the review. RefusedWrite: a secret cannot be masked, or the new file
        exists already. WriteFailed: an I/O error occurred.
    """
    if where.to is None:
        raise RefusedWrite("A masked copy needs a new file: give a path that does not exist yet. Nothing was written.")
    accepted = [one for one in review.suspects if is_accepted(one)]
    masker = Masker(one.mask for one in accepted)
    with closing(open_regular(target.path)) as descriptor:
        is_only_read = program_of(descriptor) is not None
    if is_only_read:
        done = _copy_lines(target, masker, where, review.seen, context or ChangeContext.real(), dry_run=dry_run)
    else:
        done = clean_session(
            target,
            "redact",
            lambda session: CleanPlan(masker=masker),
            where,
            dry_run=dry_run,
            expected=review.seen,
            artifacts=False,
            context=context,
        )
    kinds = Counter(one.mask.kind for one in accepted)
    notes = done.notes
    if os.path.isdir(target.path.removesuffix(".jsonl")):
        notes += ("The files beside the session are not in the copy, because they may hold secrets too.",)
    return replace(done, notes=notes, masks=tuple(sorted(kinds.items())))


def _copy_lines(
    target: Target, masker: Masker, where: Where, seen: Fingerprint, context: ChangeContext, *, dry_run: bool
) -> Cleaned:
    """Write the masked lines of a session of Claude Code or Codex, whose own program could read the copy."""
    with opened(target, only_copied=True) as file:
        session = file.session
        if seen != file.found:
            raise ChangedMeanwhile(f"{file.name} changed since the preview; nothing was changed. Preview it again.")
        if where.new_id:
            raise RefusedWrite(
                f"Only {session.rules.only_read} makes new sessions of its own. Write the masked copy to a file in "
                "another folder. Nothing was written."
            )
        path = new_path(session, where, os.path.basename(file.path).removesuffix(".zst"), context)
        content = own_content(file.path, file.descriptor, file.found.size)
        # A line without a record becomes an empty line, because the ids of entries are made from line numbers.
        masked = [masker.line(line + b"\n").line for line in content.removesuffix(b"\n").split(b"\n")]
        lines = [line or b"\n" for line in masked]
        made = translate(session.agent, b"".join(lines), file.path)
        if [entry["id"] for entry in made.entries] != list(session.ids):
            raise RefusedWrite("A mask changes what connects the entries of this session. Nothing was written.")
        if not dry_run:
            create_copy(file, lines, path)
        preview = CopyPreview(removed=Removed(), kept_entries=len(session.ids), leaf_id=session.leaf_id)
        left_out = masked.count(b"")
        notes = (f"{plural(left_out, 'line')} without a record {'is' if left_out == 1 else 'are'} not in the copy.",)
        return Cleaned(
            done="redact",
            path=file.path,
            to=path,
            preview=preview,
            dry_run=dry_run,
            seen=file.found,
            notes=notes if left_out else (),
        )


def _mask_text(kind: str, number: int) -> str:
    if kind in _PEOPLE:
        return _PEOPLE[kind] + (str(number) if number > 1 else "")
    return f"[{kind}-{number}]"


def _found(line: bytes, number: int, detector: SecretDetector) -> Iterator[tuple[SecretAt, str]]:
    """Yield the secrets and personal names on a JSON line, each with the text that contains it."""
    bare = line.strip(b" \t\r\n\xef\xbb\xbf")
    if not bare:
        return
    if is_deep(bare):
        raise RefusedWrite(f"Line {number} is nested too deep to be searched. Nothing was written.")
    try:
        value = loads(bare)
    except BadJson:
        return  # The line is not searched, because the copy leaves out lines that are not JSON.
    texts = list(strings(value))
    for text in dict.fromkeys([*(text for _, text in texts), *_hidden_texts(bare)]):
        if len(text) < _LEAST:
            continue
        once = {(found.kind == "user-name", found.secret): found for found in _all(text, detector)}
        for found in once.values():
            yield found, text
        for found, inner in _inside_base64(text, detector):
            yield found, inner
    for (_, before), (_, after) in neighbours(texts):
        joined = before[-_JOINED:] + after[:_JOINED]
        middle = min(len(before), _JOINED)
        for found in detector.secrets(joined):
            if found.start < middle < found.start + len(found.secret):
                yield found, joined


def _all(text: str, detector: SecretDetector) -> list[SecretAt]:
    """Return the personal names in a text, then its secrets, the secret found first at the end.

    The detector may report one secret under several kinds. The caller uses the kind at the end, the one found first.
    """
    return [*detector.people(text), *list(detector.secrets(text))[::-1]]


def _inside_base64(text: str, detector: SecretDetector) -> Iterator[tuple[SecretAt, str]]:
    for token in _TOKEN.findall(text):
        inner = unpacked(token)
        # Decoded media and other binary content is not searched, because it is not text.
        if inner is not None and inner.isascii() and inner.isprintable():
            for found in detector.secrets(inner):
                yield found, inner


def _hidden_texts(line: bytes) -> list[str]:
    """Return the texts of a JSON line that are not in its parsed values: object keys, and values of repeated keys."""
    texts: list[str] = []

    def collect(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        texts.extend(key for key, _ in pairs)
        whole = dict(pairs)
        if len(whole) < len(pairs):
            texts.extend(text for _, value in pairs for _, text in strings(value))
        return whole

    try:
        json.loads(line, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return [line.decode("utf-8", "replace")]
    return texts
