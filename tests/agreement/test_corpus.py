"""Every real session beside the repository opens, says the same in all views, and stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.cli.commands.lists import summary_document
from sessionbrowse.format.codec import from_json, unknown_keys
from sessionbrowse.format.entries import PlainEntry, UnknownBlock, UnknownEntry, UnknownMessage, Value
from sessionbrowse.format.json_value import loads
from sessionbrowse.model.context import build
from sessionbrowse.model.tree import rows
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.services.inspect import documents as inspect
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.text import json_exact
from tests.support.agent_totals import totals
from tests.support.session_files import snapshot


@pytest.fixture(scope="module")
def paths(corpus: Path) -> list[Path]:
    found = sorted(path for path in corpus.rglob("*") if path.suffix in (".jsonl", ".ndjson"))
    assert len(found) >= 10
    return found


def test_every_real_session_opens_as_its_own_program_opens_it(corpus: Path, paths: list[Path]):
    for path in paths:
        session = open_session(path)
        assert session.agent in path.relative_to(corpus).parts[0] or session.marks, path
        # One file is another tool's imitation of omp's: a slot without padding, which omp itself refuses.
        is_refused = session.title_slot is not None and session.title_slot.pad is None
        assert session.refusal == ("refuses this file: its title slot is not valid" if is_refused else None), path
        assert session.unlisted is None
        assert len(session.problems) == is_refused, (path, session.problems[:3])
        assert session.header is not None
        assert session.envelopes
        assert session.active_branch()[-1:] == [session.leaf]


def test_every_real_entry_is_known_and_complete(paths: list[Path]):
    for path in paths:
        session = open_session(path)
        for index, envelope in enumerate(session.envelopes):
            entry = session.entry(index)
            # Another tool made one up to see that it is kept.
            assert isinstance(entry, UnknownEntry) == (envelope.type == "future_extension_shape"), (path, envelope.type)
            assert not isinstance(entry, UnknownEntry) or set(entry.raw) >= {"type", "id", "data"}
            assert (entry.id, envelope.problem) == (envelope.id, None), path
            message = getattr(entry, "message", None)
            assert not isinstance(message, UnknownMessage), path
            content = getattr(message, "content", None)
            assert not any(isinstance(block, UnknownBlock) for block in content or () if not isinstance(block, str))


def test_every_key_of_every_real_line_is_known(paths: list[Path]):
    """Only keys that no document of the format names are shown as unknown."""
    left: dict[str, set[str]] = {}
    for path in paths:
        for raw in path.read_bytes().split(b"\n"):
            if not raw:
                continue
            value = loads(raw)
            assert isinstance(value, dict)
            decoded = from_json(value)
            for part in (decoded, getattr(decoded, "message", None)):
                if isinstance(part, Value) and not isinstance(part, PlainEntry):
                    left.setdefault(type(part).__name__, set()).update(unknown_keys(part))
    assert {name: keys for name, keys in left.items() if keys} == {"CustomRoleMessage": {"hookName"}}


@pytest.mark.slow
def test_list_show_tree_and_context_of_every_real_session_agree(corpus: Path):
    roots = [str(corpus / name) for name in AGENTS if (corpus / name).is_dir()]
    around = Surroundings(home="/home/nobody", environ={}, cwd="/")
    summaries = gather_summaries(Scope(around=around, roots=tuple(roots)))
    assert summaries
    for summary in summaries:
        session = open_session(summary.path, summary.agent)
        spent = totals(session.rules, session.envelopes)
        assert (summary.id, summary.entry_count) == (session.id, len(session.envelopes))
        assert summary.message_count == sum(envelope.type == "message" for envelope in session.envelopes)
        assert summary.tokens == spent.tokens
        assert sorted(summary.labels) == sorted(mark.text for mark in session.labels.values())
        assert abs(summary.cost - spent.cost) < 1e-6
        documents = [inspect.show_document(session), inspect.context_document(session), summary_document(summary)]
        documents += [inspect.tree_document(session, name) for name in rows.FILTERS]
        for document in documents:
            assert json.loads(json_exact(document))
        for index in range(len(session.envelopes)):
            row_text(session, index)
        branch = session.active_branch()
        for index in branch[:: max(1, len(branch) // 10)]:
            built = build.build(session, index)
            assert {message.index for message in built.messages} <= set(session.branch(index))


@pytest.mark.slow
def test_looking_at_the_corpus_changes_nothing_in_it(corpus: Path, paths: list[Path]):
    before = snapshot(corpus)
    for path in paths:
        for agent in AGENTS:
            session = open_session(path, agent)
            inspect.show_document(session)
            inspect.context_document(session)
            inspect.tree_document(session, "all")
    assert snapshot(corpus) == before
