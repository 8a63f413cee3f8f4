"""The rows about search: how good its answers are, how long they take and how much they print, beside fast-resume."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from unittest.mock import patch

from msgspec.structs import replace

from sessionbrowse.model.search.query import parse_question
from sessionbrowse.services.list.gather import take_snapshot
from sessionbrowse.services.search import ranking as ranking_module
from sessionbrowse.services.search.ranking import Ranker
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.find.roots import Scope, real_surroundings
from sessionbrowse.store.index.index import open_index
from tests.bench import words
from tests.bench.bench import Bench, Line, limited, median, seconds, times
from tests.bench.generate import Store
from tests.bench.measure import Run, must, ratios, run, spread
from tests.bench.peers import Missing, need
from tests.bench.search_quality.base import Asked
from tests.bench.search_quality.questions import is_held_out
from tests.bench.search_quality.ranking import Answer, Quality, of_fast_resume, of_hits, of_list, quality
from tests.bench.search_quality.stores import STORES, QualityStore, make_quality_store
from tests.conftest import CORPUS

SESSIONS_ON_A_PAGE = 10
HITS_OF_A_SESSION = 3
AHEAD = {"hard": 0.30, "ordinary": 0.08}
"""The lead in recall at 5 that the stores ask for, as a share of the questions."""
RIGHT_ENTRIES = 0.8
RECALL = {
    "hard": 0.82,
    "ordinary": 0.99,
    "10,000": 0.97,
    "hard, half remembered": 0.55,
    "ordinary, half remembered": 0.88,
}
"""Recall at 5 of all questions."""
MOST_BELOW = {"hard": 0.09, "hard, half remembered": 0.09, "ordinary": 0.04}
"""How far recall at 5 of the questions held out may be below that of the others."""
BELOW_ALL, EVERY = 0.03, 1_000_000
TIMED = 60
QUICK_PART = 9
"""With --quick, one question of so many."""
SLOWER_THAN_LIST = 1.3
LATER_THAN_LIST_SECONDS = 0.03
CHARACTERS = 8_000


def row_search_quality(bench: Bench) -> list[Line]:
    """Right sessions and entries of `search` and `list QUERY` among noise, ahead of fast-resume's."""
    lines: list[Line] = []
    for name in STORES:
        lines += _quality_of(bench, name)
    return lines


def row_search_time(bench: Bench) -> list[Line]:
    """Times of `search` and `list QUERY`: at 5 GB beside fast-resume's, at 600 sessions near those of `list`."""
    store = bench.store("large")
    bench.indexed(store)
    size = f"{store.spec.bytes / 1e9:.0f} GB"
    lines = [
        _beside_fast_resume(bench, store, command, _timed(bench, _generated_queries()), size, at_most=1.2)
        for command in ("search", "list")
    ]
    small = _store(bench, "ordinary")
    bench.indexed(small.store)
    what = f"{small.sessions} sessions"
    queries = _timed(bench, [each.question.ask for each in small.asked])
    for command in ("search", "list"):
        lines.append(_beside_fast_resume(bench, small.store, command, queries, what))
        lines.append(_beside_list(bench, small.store, command, queries, what))
    printed = [
        float(len(_ask(bench, small.store, "search", query, SESSIONS_ON_A_PAGE).stdout.decode())) for query in queries
    ]
    what = f"`search --json --limit {SESSIONS_ON_A_PAGE}`, {what}: characters"
    return [*lines, limited(what, printed, lambda count: f"{count:,.0f}", CHARACTERS)]


def _quality_of(bench: Bench, name: str) -> list[Line]:
    made = _store(bench, name)
    bench.indexed(made.store)
    asked = made.asked[::QUICK_PART] if bench.quick else made.asked
    answers = {
        "search": [_searched(bench, made.store, each) for each in asked],
        "list QUERY": [_listed(bench, made.store, each) for each in asked],
    }
    # fast-resume reads pi's sessions only: it is asked for no others
    shared = [place for place, each in enumerate(asked) if "pi" in each.agents]
    both = [asked[place] for place in shared]
    try:
        theirs = quality(both, _fast_resume_answers(bench, made.store, both), HITS_OF_A_SESSION)
    except Missing as reason:
        return [Line(f"quality of search, {name} store", "", str(reason), "", "", False)]
    lines: list[Line] = []
    for command, given in answers.items():
        mine = quality(both, [given[place] for place in shared], HITS_OF_A_SESSION)
        lines += _beside(f"`{command}`, {name} store of {made.sessions:,} sessions", mine, theirs, AHEAD.get(name, 0))
        whole = quality(asked, given, HITS_OF_A_SESSION)
        lines.append(Line(f"`{command}`, {name} store, sessions of all agents", _described(whole)))
        if command == "search":
            if any(each.entries for each in asked):
                bar = f"≥ {RIGHT_ENTRIES:.0%}"
                what = f"the right entry is among {HITS_OF_A_SESSION} hits of its session, {name} store"
                lines.append(Line(what, f"{whole.entry:.1%}", "", "", bar, whole.entry >= RIGHT_ENTRIES))
            lines += _halves(name, asked, given)
            if name == "frequent":
                lines.append(_beside_all_entries(bench, made.store, asked, whole))
    return lines


def _halves(name: str, asked: Sequence[Asked], given: Sequence[Answer]) -> list[Line]:
    """Compare recall on all questions with its bar, and the half that is held out with the other half."""
    found: list[Quality] = []
    for held_out in (False, True):
        chosen = [place for place, each in enumerate(asked) if is_held_out(each.question) == held_out]
        found.append(quality([asked[at] for at in chosen], [given[at] for at in chosen], HITS_OF_A_SESSION))
    built, reported = found
    most = MOST_BELOW.get(name, MOST_BELOW["ordinary"])
    below = built.at_5 - reported.at_5
    what = f"recall at 5, {name} store: questions held out ({reported.questions}); the others ({built.questions})"
    values = f"{reported.at_5:.3f}", f"{built.at_5:.3f}", f"{-below:+.3f}"
    lines = [Line(what, *values, f"≤ {most * 100:.0f} points below", below <= most)]
    if name in RECALL:
        at_5 = quality(asked, given, HITS_OF_A_SESSION).at_5
        what, bar = f"recall at 5, {name} store, all questions", f"≥ {RECALL[name]:.2f}"
        lines.append(Line(what, f"{at_5:.3f}", "", "", bar, at_5 >= RECALL[name]))
    return lines


def _beside_all_entries(bench: Bench, store: Store, asked: Sequence[Asked], mine: Quality) -> Line:
    """Compare with the same judging where every matching entry is read."""
    home = str(store.home)
    around = replace(real_surroundings(), home=home, environ={"HOME": home})
    index = open_index(bench.cache(store, "ours") / "sessionbrowse")
    snapshot = take_snapshot(Scope(around=around, hidden=True, archived=True), index)
    searcher = Searcher(snapshot, index)
    answers = []
    with patch.multiple(ranking_module, ASKED=EVERY, ASKED_TOGETHER=EVERY, FIRST_OF_ONE=EVERY, FIRST_ENTRIES=EVERY):
        for each in asked:
            found = Ranker(searcher, parse_question(each.question.ask)).rank(SESSIONS_ON_A_PAGE).sessions
            answers.append(Answer(tuple(session.summary.id or "" for session in found), {}))
    theirs = quality(asked, answers, HITS_OF_A_SESSION)
    below = theirs.at_5 - mine.at_5
    values = f"{mine.at_5:.3f}", f"{theirs.at_5:.3f}", f"{-below:+.3f}"
    what = "recall at 5, frequent store; the same with every matching entry read"
    return Line(what, *values, f"≤ {BELOW_ALL * 100:.0f} points below", below <= BELOW_ALL)


def _beside(what: str, mine: Quality, theirs: Quality, lead: float) -> list[Line]:
    what = f"{what}, {mine.questions} questions"
    rows = [
        ("recall at 1", mine.at_1, theirs.at_1, 0.0),
        ("recall at 5", mine.at_5, theirs.at_5, lead),
        ("recall at 10", mine.at_10, theirs.at_10, 0.0),
        ("mean reciprocal rank", mine.mrr, theirs.mrr, 0.0),
    ]
    lines = []
    for name, ours, other, ahead in rows:
        met = ours - other >= ahead if ahead else ours > other
        bar = f"≥ {ahead * 100:.0f} points ahead" if ahead else "ahead"
        lines.append(Line(f"{what}: {name}", f"{ours:.3f}", f"{other:.3f}", f"{ours - other:+.3f}", bar, met))
    shares = f"{mine.unanswered:.1%}", f"{theirs.unanswered:.1%}"
    return [*lines, Line(f"{what}: without an answer", *shares)]


def _described(found: Quality) -> str:
    parts = f"at 1 {found.at_1:.3f}, at 5 {found.at_5:.3f}, at 10 {found.at_10:.3f}, MRR {found.mrr:.3f}"
    return f"{parts}, without an answer {found.unanswered:.1%}, {found.questions} questions"


def _store(bench: Bench, name: str) -> QualityStore:
    if not CORPUS.is_dir():
        raise Missing("the corpus of real sessions is not beside this checkout (../shared/corpus)")
    return make_quality_store(name, bench.below / "stores", CORPUS, bench.say, quick=bench.quick)


def _searched(bench: Bench, store: Store, asked: Asked) -> Answer:
    return of_hits(_ask(bench, store, "search", asked.question.ask, SESSIONS_ON_A_PAGE).stdout)


def _listed(bench: Bench, store: Store, asked: Asked) -> Answer:
    return of_list(_ask(bench, store, "list", asked.question.ask, SESSIONS_ON_A_PAGE).stdout)


def _fast_resume_answers(bench: Bench, store: Store, asked: Sequence[Asked]) -> list[Answer]:
    must(run([*need(bench.peers.fast_resume), "--rebuild"], bench.env(store, bench.cache(store, "fr"))))
    return [of_fast_resume(_ask_fast_resume(bench, store, each.question.ask).stdout) for each in asked]


def _ask(bench: Bench, store: Store, command: str, query: str, limit: int) -> Run:
    cache = bench.cache(store, "ours")
    return bench.ours(store, cache, command, "--json", "--limit", str(limit), "--", query)


def _ask_fast_resume(bench: Bench, store: Store, query: str) -> Run:
    command = [*need(bench.peers.fast_resume), "--json", "--limit", str(SESSIONS_ON_A_PAGE), "--", query]
    return must(run(command, bench.env(store, bench.cache(store, "fr"))))


def _beside_fast_resume(
    bench: Bench, store: Store, command: str, queries: Sequence[str], what: str, at_most: float | None = None
) -> Line:
    """Compare the times of all queries, each asked of both programs in turn."""
    what = f"`{command} QUERY`, {what}, {len(queries)} queries; `fr --json`"
    bar = f"≤ {at_most:g}×" if at_most else ""
    mine: list[float] = []
    theirs: list[float] = []
    try:
        must(run([*need(bench.peers.fast_resume), "--rebuild"], bench.env(store, bench.cache(store, "fr"))))
    except Missing as reason:
        return Line(what, "", str(reason), "", bar, False if bar else None)
    for query in queries:
        mine.append(_ask(bench, store, command, query, SESSIONS_ON_A_PAGE).seconds)
        theirs.append(_ask_fast_resume(bench, store, query).seconds)
    found = ratios(mine, theirs)
    met = found.median <= at_most if at_most else None
    return Line(what, spread(mine).shown(seconds), spread(theirs).shown(seconds), found.shown(times), bar, met)


def _beside_list(bench: Bench, store: Store, command: str, queries: Sequence[str], what: str) -> Line:
    """Compare with `list --limit 50`, which starts the same program and reads the same index."""
    mine: list[float] = []
    listed: list[float] = []
    for query in queries:
        mine.append(_ask(bench, store, command, query, SESSIONS_ON_A_PAGE).seconds)
        listed.append(bench.ours(store, bench.cache(store, "ours"), "list", "--json", "--limit", "50").seconds)
    most = max(median(listed) * SLOWER_THAN_LIST, median(listed) + LATER_THAN_LIST_SECONDS)
    return Line(
        f"`{command} QUERY`, {what}, {len(queries)} queries; `list --limit 50`",
        spread(mine).shown(seconds),
        spread(listed).shown(seconds),
        ratios(mine, listed).shown(times),
        f"≤ {seconds(most)}",
        median(mine) <= most,
    )


def _timed(bench: Bench, queries: Sequence[str]) -> Sequence[str]:
    """Return as many queries as are timed, from everywhere in a list."""
    return queries[:: max(1, len(queries) // TIMED) * (QUICK_PART if bench.quick else 1)]


def _generated_queries() -> list[str]:
    """Return queries of one to three words that generated text holds, frequent and rare ones."""
    rng = random.Random("queries")
    plain = [word for word in words.vocabulary()[:60_000] if re.fullmatch("[a-z]{4,12}", word)]
    frequent, rare = plain[:300], plain[300:]
    return [" ".join([rng.choice(rare), *rng.sample(frequent, rng.randrange(3))]) for _ in range(TIMED)]
