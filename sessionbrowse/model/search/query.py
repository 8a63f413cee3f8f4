"""The grammar of search queries, and matching texts with a query. This module reads no disk and no index.

A query has words, each of which must begin a word of the text; `"phrases"`; `-word` and `-"phrase"`, which must not
occur; `re:pattern` up to the end of the line; and filters such as `agent:pi` or `after:2026-08`. Texts are compared
without case and diacritics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from datetime import UTC, datetime, timedelta
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError, did_you_mean, meant
from sessionbrowse.model.search.patterns import BadPattern, MatchSpan, compiled
from sessionbrowse.model.search.words import (
    find_whole,
    find_word,
    identifier_parts,
    is_cjk,
    literal,
    original_offsets,
    words_of,
)

AGENTS = ("pi", "omp", "atomic", "indusagi", "claude", "codex")
STATES = ("active", "abandoned", "compacted")
ROLE_WORDS = ("user", "assistant", "tool", "bash", "python", "summary", "developer", "custom", "hook")
"""The values of a `role:` filter as people type them."""
CALLS = "toolcall"
"""The value of a `role:` filter for answers that call tools: no entry has this role, but results do."""
SNIPPET_BEFORE, SNIPPET_AFTER = 48, 112
FILTERS = ("agent", "project", "name", "label", "role", "tool", "model", "branch", "machine", "after", "before")
"""The names of the filters of a query."""
THIS_MACHINE = "here"
"""The value of a `machine:` filter for the sessions of this machine."""
MAX_QUERY_CHARACTERS = 4000


class BadSearch(SessionBrowseError):
    """Error: a search query is invalid; the error's text explains the mistake to the user.

    If the user could make the query valid by typing on, `open_end` is the invalid part at the query's end, else None.
    """

    def __init__(self, sentence: str, open_end: str | None = None) -> None:
        super().__init__(sentence)
        self.open_end = open_end

    def is_unfinished(self, text: str) -> bool:
        """Return True if the query `text` ends with the part that the user could make valid by typing on."""
        return self.open_end is not None and text.endswith(self.open_end)


class SearchQuery(Struct, frozen=True, kw_only=True):
    """A parsed search query. Its words and phrases are in lower case, without diacritics.

    If a filter has several values, an entry needs to match only one of the values.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    """The phrases that the user typed without quotes: sequences of CJK characters."""
    compounds: tuple[tuple[str, ...], ...] = ()
    """For each identifier in the query, such as `fooBar`, its parts (`foo`, `bar`), to find `foo_bar` and `foo.bar`.

    Neighbouring words are taken for such parts too, to find `fooBar` by `foo bar`.
    """
    excluded: tuple[str, ...] = ()
    """Words and phrases that a matching text must not have."""
    pattern: str | None = None
    directories: tuple[str, ...] = ()
    """The values of `project:` that are paths, as typed.

    Compare them by directory, because a session may spell the same directory differently.
    """
    agents: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    after_ms: float | None = None
    before_ms: float | None = None
    doubtful: tuple[str, ...] = ()
    """Terms that the user perhaps meant as filters, such as `age:3d`; they are searched as text."""

    @property
    def has_text(self) -> bool:
        """True if the query has words, phrases or a pattern."""
        return bool(self.words or self.phrases or self.pattern)

    @property
    def is_empty(self) -> bool:
        """True if the query has neither text nor filters."""
        return self == SearchQuery()

    @property
    def is_about_entries(self) -> bool:
        """True if the query has filters that apply to entries, not to sessions."""
        return bool(self.labels or self.roles or self.tools or self.models or self.states)

    @property
    def indexed_roles(self) -> tuple[str, ...]:
        """The roles that the text index knows the wanted entries by: answers stand for their tool calls."""
        return tuple(["assistant" if role == CALLS else role for role in self.roles])

    @property
    def is_about_sessions(self) -> bool:
        """True if the query only has filters that apply to sessions: agent, project, name, machine, time."""
        return not (self.is_empty or self.has_text or self.excluded or self.is_about_entries)

    @property
    def selects_sessions(self) -> bool:
        """True if the query has a filter by agent, machine, project, label or name, which whole sessions must fit."""
        return bool(self.agents or self.machines or self.projects or self.labels or self.names)

    @property
    def is_about_labels(self) -> bool:
        """True if the results are labels: the query has a filter by label, but no text and no filter of entries."""
        return bool(self.labels) and not (self.has_text or self.excluded or self.roles or self.tools or self.models)

    def tokens(self) -> list[tuple[str, bool]]:
        """Return the words that a matching text must contain, as pairs (word, flag).

        The flag is True if a longer word of the text, which begins with the query's word, matches too.
        """
        found = [(word, not is_cjk(word)) for word in self.words]
        for phrase in self.phrases:
            words = words_of(phrase)
            ends_open = bool(phrase) and not phrase[-1].isspace()
            for number, word in enumerate(words):
                is_last = number == len(words) - 1
                found.append((word, is_last and ends_open and not is_cjk(word)))
        return list(dict.fromkeys(found))


def fits_machine(query: SearchQuery, machine: str | None) -> bool:
    """Return True if sessions of a machine (None: this one) fit the query: a filter may give the name's beginning."""
    return not query.machines or (machine or THIS_MACHINE).casefold().startswith(query.machines)


def may_be_in(query: SearchQuery, line: bytes) -> bool:
    """Return False if a line of a session file cannot contain all words of the query."""
    return may_hold([word.encode() for word, _ in query.tokens()], line, all)


def may_hold(pieces: Sequence[bytes], line: bytes, how: Callable[[Iterable[bool]], bool] = any) -> bool:
    """Return False if an undecoded line contains none of the pieces, or with `how=all` not all of them.

    The check searches the bytes of the line; it always returns True for a line with escapes or non-ASCII bytes.
    """
    return not line.isascii() or b"\\u" in line or how(map(line.lower().__contains__, pieces))


def parse_search(text: str, now: datetime | None = None) -> SearchQuery:
    """Parse a query; `after:7d` means seven days before `now`.

    Raises:
        BadSearch: a pattern, date or filter is not valid.
    """
    if len(text) > MAX_QUERY_CHARACTERS:
        raise BadSearch(f"The query has more than {MAX_QUERY_CHARACTERS:,} characters: shorten it.")
    words: list[str] = []
    phrases: list[str] = []
    runs: list[str] = []
    excluded: list[str] = []
    compounds: list[tuple[str, ...]] = []
    marks: list[str] = []
    doubtful: list[str] = []
    pattern: str | None = None
    filters: dict[str, list[str]] = {key: [] for key in FILTERS}
    if text.count('"') % 2:
        # A phrase has no closing quote while the user types it; until it has one, it is not searched.
        text, _, unfinished = text.rpartition('"')
        if unfinished.strip() and not text.strip():
            raise BadSearch('Type the closing " of the phrase.', "")
    for found in _TERM.finditer(text):
        if found["pattern"] is not None:
            pattern = _pattern(found["pattern"].strip())
            doubtful += [each[0] for each in _LIKE_FILTER.finditer(pattern, 1) if _key(each["key"]) in filters]
        elif (left_out := found["excluded"]) is not None:
            if ":" in left_out and _key(left_out.partition(":")[0]) in filters:
                raise BadSearch(f'A filter cannot be excluded: type -"{left_out}" to exclude this text.')
            excluded += _phrase(left_out.strip('"'))
        elif found["phrase"] is not None:
            phrases += _phrase(found["phrase"])
        elif found["key"] is not None and (key := _key(found["key"])) in filters:
            value = found["quoted"] if found["quoted"] is not None else found["value"]
            if value or key not in _WITHOUT_VALUE:
                filters[key].append(value)
        else:
            if _LIKE_FILTER.fullmatch(found[0]):
                doubtful.append(found[0])
            if not _add_term(found[0], words, runs) and not found[0].isascii():
                marks += _phrase(found[0])
            compounds += _compound(found[0])
    if not (words or phrases or runs or pattern):
        # Symbols such as an emoji are no words; they are searched only if the query has no words, phrases or pattern.
        phrases += marks
    phrases += runs
    compounds += _neighbours(words)
    return SearchQuery(
        words=tuple(dict.fromkeys(words)),
        phrases=tuple(dict.fromkeys(phrases)),
        runs=tuple(dict.fromkeys(runs)),
        compounds=tuple(dict.fromkeys(compounds)),
        excluded=tuple(dict.fromkeys(excluded)),
        pattern=pattern,
        agents=tuple(_one_of("agent", value, AGENTS) for value in filters["agent"]),
        projects=_folded(filters["project"]),
        directories=tuple([value for value in filters["project"] if value.startswith(("/", "~"))]),
        names=_folded(filters["name"]),
        machines=_folded(filters["machine"]),
        labels=tuple([folded for value in filters["label"] if (folded := literal(value)) or not value]),
        roles=tuple(role for value in filters["role"] for role in _roles(value)),
        tools=tuple(value.lower() for value in filters["tool"]),
        models=tuple(value.lower() for value in filters["model"]),
        states=tuple(_one_of("branch", value, STATES) for value in filters["branch"] if value.lower() != "any"),
        after_ms=max([_moment("after", value, now) for value in filters["after"]], default=None),
        before_ms=min([_moment("before", value, now) for value in filters["before"]], default=None),
        doubtful=tuple(doubtful),
    )


def parse_question(text: str, note: Callable[[str], None] = lambda _: None) -> SearchQuery:
    """Parse a query as `parse_search` does, but refuse a query such as `?`, which has neither search words nor filters.

    `note` is called with a sentence about a phrase that is not searched, because it has no closing quote.

    Raises:
        BadSearch: a pattern, date or filter is not valid, or there is neither text nor filter.
    """
    query = parse_search(text)
    if query.is_empty and text.strip():
        raise BadSearch('Add a search word, or put the text in "quotes".', "")
    unfinished = text.rpartition('"')[2].strip() if text.count('"') % 2 else ""
    if unfinished:
        note(f'"{unfinished} was not searched: type the closing " of the phrase.')
    return query


def in_parts(query: SearchQuery) -> SearchQuery | None:
    """Return a query for the parts of the identifiers as words of their own; None if there are no identifiers."""
    parts = {"".join(compound): [part for part in compound if len(part) >= _LEAST_PART] for compound in query.compounds}
    words = [part for word in query.words for part in parts.get(word.replace("_", "")) or [word]]
    found = replace(query, words=tuple(dict.fromkeys(words)), compounds=())
    return found if found.words != query.words else None


def doubts(query: SearchQuery, missing: Set[str] | None = None) -> list[str]:
    """Return a sentence for each term of a query that was perhaps meant as a filter, with the filter to type instead.

    With `missing`, the words of the query that were found nowhere, only terms that contain such a word count.
    """
    sentences: list[str] = []
    for term in query.doubtful:
        key, _, value = term.partition(":")
        if query.pattern is not None and term in query.pattern:
            if missing is None:
                sentences.append(f"re: takes the rest of the query; put {term} before it.")
        elif missing is None or not missing.isdisjoint(words_of(term)):
            likely = meant(key, _TIMES) or ("" if _is_moment(value) else meant(key, FILTERS))
            also = [f"{each}:{value}" for each in ([likely] if likely else _TIMES if _is_moment(value) else [])]
            hint = f"Did you mean {' or '.join(also)}?" if also else f"The filters are {': '.join(FILTERS)}:."
            sentences.append(f"{key}: is no filter. {hint}")
    return sentences


def word_spans(query: SearchQuery, text: str, folded: str | None = None) -> list[MatchSpan] | None:
    """Return the first matches of a query's words and phrases in a text; None if one is missing or one is excluded.

    The query's regular expression is ignored. `folded` is the text in lower case without diacritics, as
    `literal` returns it, if the caller has it already.
    """
    if has_excluded(query, text):
        return None
    if not query.words and not query.phrases:
        return []
    folded = literal(text) if folded is None else folded
    places: list[MatchSpan] = []
    for wanted in (*query.words, *query.phrases):
        at = find_word(wanted, folded)
        if at < 0:
            return None
        places.append((at, at + len(wanted)))
    return sorted(set(_in_original(text, folded, places)))


def has_words(query: SearchQuery, text: str) -> bool:
    """Return True if a text contains all words and phrases of a query, and none that it excludes.

    The query's regular expression is ignored.
    """
    return word_spans(query, text) is not None


def has_excluded(query: SearchQuery, text: str) -> bool:
    """Return True if a text contains a word or phrase that a query excludes."""
    folded = literal(text) if query.excluded else ""
    return any(find_word(each, folded) >= 0 for each in query.excluded)


def is_as_typed(query: SearchQuery, text: str) -> bool:
    """Return True if a text contains all words and phrases of a query as whole words."""
    folded = literal(text)
    return all(find_whole(wanted, folded) >= 0 for wanted in (*query.words, *query.phrases))


def snippet(text: str, spans: list[MatchSpan]) -> tuple[str, tuple[MatchSpan, ...]]:
    """Return a part of a text around the first match, as one line, and the positions of the matches in this line."""
    first = spans[0][0] if spans else 0
    begin = max(0, first - SNIPPET_BEFORE)
    end = min(len(text), max(first, spans[0][1] if spans else 0) + SNIPPET_AFTER)
    if begin > 0:
        blank = text.find(" ", begin, first)
        begin = blank + 1 if blank >= 0 else begin
    return excerpt(text, begin, end, spans)


def excerpt(text: str, begin: int, end: int, spans: Iterable[MatchSpan]) -> tuple[str, tuple[MatchSpan, ...]]:
    """Return the text from `begin` to `end` as one line, and the spans that begin there, as positions in the line."""
    line = _WHITE_SPACE.sub(" ", text[begin:end])
    head, tail = "…" if begin > 0 else "", "…" if end < len(text) else ""
    shift = len(head) - begin
    return head + line + tail, tuple(sorted({(a + shift, min(b, end) + shift) for a, b in spans if begin <= a < end}))


_WHITE_SPACE = re.compile(r"\s")


# ---- parts of the grammar ---------------------------------------------------------------------------------------

_TIMES = ("after", "before")
_OTHER_KEYS = {"since": "after", "until": "before"}
"""Other names of filters: the command line's options for times have these names."""
_WITHOUT_VALUE = ("project", "name", "tool", "model", "machine")
"""Filters that are ignored while they have no value yet; any text is a valid value of these filters."""
_TERM = re.compile(
    r'(?:(?<!\S)re:(?P<pattern>.*))|(?<!\S)-(?P<excluded>"[^"]*"|[^\W\d_]{3}[^\s"]*)|"(?P<phrase>[^"]*)"'
    r'|(?:(?<!\S)(?P<key>[A-Za-z]+):(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s"]*)))|[^\s"]+',
    re.DOTALL,
)
_LIKE_FILTER = re.compile(r'(?<!\S)(?P<key>[A-Za-z]{2,}):(?P<value>[\w"][^\s/]*)')
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[_.-][A-Za-z0-9]+)*")
_MAX_PARTS, _LEAST_JOINED, _LEAST_PART = 4, 6, 3
_RELATIVE = re.compile(r"(\d{1,6})([hdwmy])")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_OPEN_DATE = re.compile(r"\d{1,6}|\d{4}-(\d{1,2}-)?|\d{4}-\d\d-\d\dT\S*")
_UNFINISHED_PATTERN = ("unterminated", "end of pattern", "missing")
"""Words in the error messages of the module `re` for a pattern whose end is missing."""
_DAYS = {"today": 0, "yesterday": 1}
_HOURS = {"h": 1, "d": 24, "w": 168, "m": 30 * 24, "y": 365 * 24}


def _key(typed: str) -> str:
    """Return the name of the filter that a typed key means; the key in lower case if there is none."""
    return _OTHER_KEYS.get(typed.lower(), typed.lower())


def _folded(values: list[str]) -> tuple[str, ...]:
    """Return the values of a filter in lower case without diacritics; values that become empty are left out."""
    return tuple([folded for value in values if (folded := literal(value))])


def _add_term(term: str, words: list[str], runs: list[str]) -> bool:
    """Add the words of an unquoted term to `words`, and its sequences of CJK characters to `runs`.

    Return False for a term that has no word; an emoji is such a term.
    """
    found = words_of(term)
    for is_wide, group in groupby(found, is_cjk):
        run = list(group)
        if is_wide and len(run) > 1:
            runs.append("".join(run))
        else:
            words += run
    return bool(found)


def _compound(term: str) -> list[tuple[str, ...]]:
    """Return a list with the parts of an identifier (`foo`, `bar` for `fooBar`), empty for any other term."""
    if not _IDENTIFIER.fullmatch(term):
        return []
    parts = tuple([part.lower() for part in identifier_parts(term)])
    return [parts] if 1 < len(parts) <= _MAX_PARTS else []


def _neighbours(words: list[str]) -> list[tuple[str, ...]]:
    """Return groups of neighbouring words that may be parts of one identifier: each pair, and all of a few words."""
    runs = [tuple(words[at : at + size]) for size in (2, len(words)) for at in range(len(words) - size + 1)]
    return [
        run
        for run in runs
        if 1 < len(run) <= _MAX_PARTS and all(map(str.isascii, run)) and len("".join(run)) >= _LEAST_JOINED
    ]


def _phrase(text: str) -> list[str]:
    folded = literal(text).strip()
    return [folded] if folded else []


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except BadPattern as error:
        unfinished = not text or any(word in error.sentence for word in _UNFINISHED_PATTERN)
        raise BadSearch(error.sentence, "" if unfinished else None) from None
    return text


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> str:
    found = [word for word in allowed if word.startswith(value.lower())]
    if len(found) != 1:
        raise _unknown(key, value, allowed, is_open=bool(found))
    return found[0]


def _unknown(key: str, value: str, known: tuple[str, ...], *, is_open: bool = False) -> BadSearch:
    sentence = f"{key}: takes {', '.join(known)}{_not(value)}.{did_you_mean(value, known)}"
    return BadSearch(sentence, f":{value}" if is_open else None)


def _not(value: str) -> str:
    return f", not '{value}'" if value else ""


def _roles(value: str) -> tuple[str, ...]:
    """Return the roles and entry types that a `role:` filter selects, as prefixes in lower case."""
    from sessionbrowse.model.search.entry_text import ROLES, SUMMARIES

    wanted = value.lower()
    if not wanted:
        raise _unknown("role", value, ROLE_WORDS, is_open=True)
    if any(role.lower().startswith(wanted) for role in ROLES):
        return (wanted,)
    if CALLS.startswith(wanted):
        return (CALLS,)
    if "summary".startswith(wanted):
        return SUMMARIES
    raise _unknown("role", value, ROLE_WORDS)


def _moment(key: str, value: str, now: datetime | None) -> float:
    """Return the time that a date filter names, in milliseconds since 1970.

    The value is a date, which means its beginning in the user's time zone, a time span before `now` such as `7d` (h, d,
    w, m, y), or `today` or `yesterday`.
    """
    relative = _RELATIVE.fullmatch(value.lower())
    now = now or datetime.now(UTC)
    try:
        if relative is not None:
            hours = int(relative[1]) * _HOURS[relative[2]]
            return (now - timedelta(hours=hours)).timestamp() * 1000
        date = _DATE.fullmatch(value)
        # A `datetime` without a time zone is local, and its timestamp knows when clocks were put forward or back.
        if value.lower() in _DAYS:
            today = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
            begin = today - timedelta(days=_DAYS[value.lower()])
        elif date is not None:
            begin = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1))
        else:
            begin = datetime.fromisoformat(value)
        return begin.timestamp() * 1000
    except (ValueError, OverflowError, OSError):
        is_open = _OPEN_DATE.fullmatch(value) or any(day.startswith(value.lower()) for day in _DAYS)
        raise BadSearch(
            f"{key}: needs a date such as 2026-08-13, 7d or today{_not(value)}.", f":{value}" if is_open else None
        ) from None


def _is_moment(value: str) -> bool:
    return bool(_RELATIVE.fullmatch(value.lower()) or _DATE.fullmatch(value)) or value.lower() in _DAYS


def _in_original(text: str, folded: str, places: list[MatchSpan]) -> list[MatchSpan]:
    """Map positions of matches in `folded`, the lower-case form that is compared, to positions in `text`."""
    if len(text) == len(folded) and text.isascii():
        return places
    wanted = sorted({offset for begin, end in places for offset in (begin, end - 1)})
    offsets = dict(zip(wanted, original_offsets(text, wanted), strict=True))
    return [(offsets[begin], offsets[end - 1] + 1) for begin, end in places]
