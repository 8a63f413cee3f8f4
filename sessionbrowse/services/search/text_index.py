"""Ask the text directories of an index which entries match the terms of a query best, and which contain its words.

The forms of a word (other endings, longer words, words one letter away) are chosen among the words in the index.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.model.search.relevance import Term
from sessionbrowse.model.search.words import (
    BEGINNING,
    EXACT,
    INSIDE,
    LEAST_INSIDE,
    LEAST_MISSPELT,
    MISSPELT,
    STEM,
    fit,
    is_misspelt,
    key_of,
    mistaken_heads,
    words_of,
)
from sessionbrowse.store.find.slow_disks import is_remote
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.schema import is_damage
from sessionbrowse.store.index.text_reader import Form, Place, TextReader, WantedTerm, engine_words, idf
from sessionbrowse.store.index.texts import SAID, TOOLS, engine, open_texts

MAX_FORMS = 60
"""Maximum number of forms that are searched for one word of a query."""
MOST_LONGER, MOST_NEAR = 500, 5_000
"""Maximum numbers of indexed words that are compared with a word of the query, the most frequent words first.

`MOST_LONGER` words are compared to find the forms of the word, `MOST_NEAR` to find words one typing mistake away.
"""
_LAST_PARTS = 30
NO_ENGINE = "Words are searched in the session files, because the package tantivy cannot be used here."
ON_NETWORK = "Words are searched in the session files, because the cache directory {} is on a network disk."

Scored = list[tuple[float, int, Place]]
"""Entries as tuples: score, number of the role, place of the entry."""


class TextIndex:
    """The text directories of an open index; the first question opens them, and later changes to them are not seen."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.damage: sqlite3.DatabaseError | None = None
        """The error that showed damage of the index, else None; a damaged index should be rebuilt."""
        self._open: dict[bool, list[TextReader]] = {}

    def close(self) -> None:
        """Close the text directories; the next question opens their newest version."""
        for reader in [each for readers in self._open.values() for each in readers]:
            reader.close()
        self._open.clear()

    def files(self, tools: bool) -> set[int]:
        """Return the ids of the files that can be searched: those still in the index after its texts were opened.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        self.readers(tools)
        return {file for (file,) in self._index.connection.execute("SELECT id FROM files")}

    def readers(self, tools: bool) -> list[TextReader]:
        """Return the readers of what was said, and with `tools` of tool calls and results.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        if tools not in self._open:
            kinds = (SAID, TOOLS) if tools else (SAID,)
            opened = open_texts(self._index.directory, self._index.connection, kinds)
            self._open[tools] = [TextReader(each) for each in opened]
        return self._open[tools]

    def every(self, query: SearchQuery, tools: bool) -> dict[int, list[int]] | None:
        """Return the entries, by file, that may contain every word of a query.

        Return None if the query has no words, or the index cannot be read.
        """
        words = [(engine_words(word), is_open) for word, is_open in query.tokens()]
        if not any(form for form, _ in words):
            return None
        found: dict[int, set[int]] = {}
        try:
            for reader in self.readers(tools):
                for file, entry in reader.every(words):
                    found.setdefault(file, set()).add(entry)
        except sqlite3.DatabaseError as error:
            self.note_damage(error)
            return None
        return {file: sorted(entries) for file, entries in found.items()}

    def ask(self, terms: Sequence[Term], tools: bool) -> Question:
        """Return a question for the entries that are best for some terms.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        return Question(self.readers(tools), terms)

    def note_damage(self, error: sqlite3.DatabaseError) -> None:
        """Keep an error of a lookup if it means that the index is damaged."""
        self.damage = error if is_damage(error) else None


def why_no_engine(index: Index) -> str | None:
    """Return the reason, as text for the user, why an index cannot be searched for words; None if it can be."""
    if engine(index.directory) is not None:
        return None
    return ON_NETWORK.format(index.directory) if is_remote(str(index.directory)) else NO_ENGINE


class Question:
    """A lookup of terms in the text directories of the index: counts and best entries."""

    def __init__(self, readers: Sequence[TextReader], terms: Sequence[Term]) -> None:
        self._readers = readers
        self.documents = sum(reader.documents for reader in readers)
        self._frequencies: dict[tuple[str, int], Counter[str]] = {}
        self.wanted = [self._wanted(term) for term in terms]
        self.counts = [self._count(term) for term in self.wanted]
        """For each term, the number of entries that contain it in any form."""

    def best(
        self,
        most: int,
        *,
        every: bool = False,
        files: Collection[int] | None = None,
        roles: Collection[int] | None = None,
    ) -> Scored:
        """Return about `most` entries with the highest scores; with `every`, only entries with all terms."""
        terms = [term for term in self.wanted if term.forms or term.inside]
        if not terms or (every and len(terms) < 2):
            return []
        found: dict[Place, tuple[float, int, Place]] = {}
        for reader in self._readers:
            for each in reader.best(terms, most, every=every, files=files, roles=roles):
                if each[2] not in found or found[each[2]] < each:
                    found[each[2]] = each
        return sorted(found.values(), key=lambda each: (-each[0], each[2]))

    def files_with(self, number: int, files: Collection[int] | None = None) -> set[int]:
        """Return the files, among `files` if given, that contain the term with this number."""
        return {file for reader in self._readers for file in reader.files_with(self.wanted[number], files)}

    def misspelt(self, word: str) -> tuple[str, ...]:
        """Return the indexed words that differ from a word by one typing mistake, or in one part of an identifier."""
        parts = engine_words(word)
        if len(parts) < 2:
            return self._near(word)
        others = [(*parts[:at], other, *parts[at + 1 :]) for at, part in enumerate(parts) for other in self._near(part)]
        return tuple(["_".join(each) for each in others if self._holds(each)])

    def _near(self, word: str) -> tuple[str, ...]:
        if len(word) < LEAST_MISSPELT:
            return ()
        near = self._words(word[: len(word) // 2], MOST_NEAR)
        found = {each for each in near if is_misspelt(word, each)}
        for head in mistaken_heads(word) if not found else ():
            found.update(each for each in self._words(head, MOST_NEAR) if is_misspelt(word, each))
        return tuple(sorted(found))

    def _holds(self, form: Form) -> bool:
        """Return True if an entry contains all words of a form."""
        return any(True for reader in self._readers for _ in reader.every([(form, False)]))

    def _count(self, term: WantedTerm) -> int:
        total = sum(reader.count(form) for reader in self._readers for form in term.forms)
        if term.inside:
            total += sum(reader.count_inside(term.inside) for reader in self._readers)
        return min(total, self.documents)

    def _words(self, beginning: str, most: int = MOST_LONGER) -> Counter[str]:
        known = self._frequencies.get((beginning, most))
        if known is None:
            known = self._frequencies[beginning, most] = Counter()
            for reader in self._readers:
                known.update(reader.words(beginning, most))
        return known

    def _wanted(self, term: Term) -> WantedTerm:
        if not term.is_word:
            return self._phrase(term)
        forms = self._forms(term.text, EXACT)
        for other in term.instead:
            _add(forms, self._forms(other, MISSPELT))
        for spelling in term.spellings:
            words = engine_words(spelling)
            _add(forms, {words: STEM} if len(words) > 1 else self._longer(spelling))
        if term.parts:
            _add(forms, {term.parts: STEM})
        known = {form: weight for form, weight in forms.items() if any(reader.count(form) for reader in self._readers)}
        is_inside = (
            not known and not term.instead and len(term.text) >= LEAST_INSIDE and len(engine_words(term.text)) == 1
        )
        wanted = WantedTerm(known, inside=term.text if is_inside else "")
        if is_inside and not self._count(wanted):
            wanted.inside = ""
        return self._rated(wanted)

    def _phrase(self, term: Term) -> WantedTerm:
        words = tuple([word for token in term.tokens() for word in engine_words(token)])
        forms: dict[Form, float] = {words: EXACT} if words else {}
        if words and not term.run and not term.text[-1].isspace():
            _add(forms, self._begun(words))
        return self._rated(WantedTerm(forms, is_required=term.is_required and bool(words)))

    def _rated(self, term: WantedTerm) -> WantedTerm:
        count = self._count(term)
        term.rarity = idf(self.documents, count) if count else 0.0
        return term

    def _forms(self, wanted: str, worth: float) -> dict[Form, float]:
        words = engine_words(wanted)
        if len(words) != 1:
            return {words: worth, **self._begun(words)} if words else {}
        if len(words[0]) == 1:
            return {words: worth}
        frequencies = self._words(key_of(words[0]))
        weights = {word: weight for word in frequencies if (weight := fit(words[0], word))}
        best = sorted(weights, key=lambda word: (-weights[word], -frequencies[word], word))[:MAX_FORMS]
        forms: dict[Form, float] = {words: worth}
        return forms | {(word,): worth * weights[word] for word in best}

    def _begun(self, words: Form) -> dict[Form, float]:
        longer = self._words(words[-1]).most_common(_LAST_PARTS)
        return {(*words[:-1], word): BEGINNING for word, _ in longer if word != words[-1]}

    def _longer(self, spelling: str) -> dict[Form, float]:
        longer = self._words(spelling).most_common(_LAST_PARTS)
        return {(word,): STEM if word == spelling else INSIDE for word, _ in longer}


def misspelt(term: Term, question: Question | None, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the words in an index, and in some texts, that differ from a term by one typing mistake."""
    written = (term.text, "_".join(term.parts), "".join(term.parts))
    typed = [each for each in dict.fromkeys(written) if len(each) >= LEAST_MISSPELT]
    found = {other for each in typed for other in (question.misspelt(each) if question is not None else ())}
    for text in texts if typed else ():
        found.update(other for other in words_of(text) if any(is_misspelt(each, other) for each in typed))
    return tuple(sorted(found - {*typed}))


def _add(forms: dict[Form, float], more: dict[Form, float]) -> None:
    for form, weight in more.items():
        forms[form] = max(forms.get(form, 0.0), weight)
