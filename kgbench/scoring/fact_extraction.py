# SPDX-License-Identifier: Apache-2.0
"""Metrics for the facts extracted from one sentence: those of Text2KGBench, and others.

Mihindukulasooriya et al., Text2KGBench, ISWC 2023, section 4, with the details of the evaluator
that was published with it: relations are compared exactly, subjects and objects after removing
white space, underscores and case; precision and recall consider only facts whose relation occurs in
the reference; a subject or object is a hallucination if its stems are not a substring of the stems
of sentence and concept labels; the filler ``01 January`` of dates is ignored in them.

The published hallucination metrics look only for the entity's own words. Their authors name the
forms that this misses (sections 5.4 and 7): acronyms, their expansions, other names of the same
thing, and the forms of dates and numbers. Most of the other metrics are named as missing, too.
Rates of an answer without facts are undefined, so that silence is not rewarded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kgbench.scoring.agreement import harmonic
from kgbench.scoring.facts import Fact, Ontology, Relation, Triple
from kgbench.scoring.stems import folded, stemmed

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH_NUMBERS = {form: k for k, m in enumerate(_MONTHS, 1) for form in (m, m[:3])} | {"sept": 9}
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_ISO_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*")
_DAY_FIRST = re.compile(r"\s*(\d{1,2})\s+([a-z]+)\.?,?\s+(\d{4})\s*")
_MONTH_FIRST = re.compile(r"\s*([a-z]+)\.?\s+(\d{1,2}),?\s+(\d{4})\s*")
_BRACKETED = re.compile(r"\([^()]*\)")
_SMALL = frozenset({"a", "an", "and", "at", "by", "for", "in", "of", "on", "the", "to", "de"})
_LEAST_ACRONYM = 2
_LEAST_NAME = 4  # characters of a word that can stand for a whole name


@dataclass(frozen=True)
class MentionedIn:
    """A sentence with cached indexes, for tests of many entities."""

    sentence: str

    def mentions(self, entity: str) -> bool:
        """Return whether the sentence mentions ``entity``, a date, number, acronym or other name.

        * A date is mentioned if its year is and, unless it is 1 January (the data's filler for a
          whole year), also its day and month.
        * A number is mentioned if a number with the same value is.
        * An acronym is mentioned if consecutive words have its letters as initials, an expansion if
          its acronym is mentioned; small words may be left out.
        * A name is mentioned if all its words are, in any order and without diacritics; text in
          brackets is ignored. It is also mentioned if the last of several words is, provided it has
          at least four letters and a capital (a person by the family name).
        """
        if (date := _date(entity)) is not None:
            return self._has_date(*date)
        if _NUMBER.fullmatch(_plain_number(entity)):
            return float(_plain_number(entity)) in self._numbers
        return self._has_name(entity) or self._has_acronym(entity) or self._has_expansion(entity)

    @cached_property
    def _words(self) -> list[str]:
        return _WORD.findall(_without_accents(self.sentence))

    @cached_property
    def _lowered(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self._words)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        text = _GROUPED.sub("", self.sentence)
        return frozenset(float(number) for number in _NUMBER.findall(text) if len(number) < 300)  # noqa: PLR2004 - no number a float can hold is longer

    @cached_property
    def _initials(self) -> frozenset[str]:
        """Initials of all runs of two to eight words, with and without the small ones."""
        initials: set[str] = set()
        for words in (self._words, [w for w in self._words if w.lower() not in _SMALL]):
            letters = "".join(word[0] for word in words).upper()
            for length in range(_LEAST_ACRONYM, 9):
                initials.update(letters[k : k + length] for k in range(len(letters) - length + 1))
        return frozenset(initials)

    def _has_date(self, year: int, month: int, day: int) -> bool:
        if float(year) not in self._numbers:
            return False
        if (month, day) == (1, 1):
            return True
        named = any(_MONTH_NUMBERS.get(word) == month for word in self._lowered)
        return float(day) in self._numbers and (named or float(month) in self._numbers)

    def _has_name(self, entity: str) -> bool:
        words = _WORD.findall(_BRACKETED.sub(" ", _without_accents(entity)))
        if not words:
            return False
        if all(word.lower() in self._lowered for word in words):
            return True
        last = words[-1]
        return len(last) >= _LEAST_NAME and last[0].isupper() and last in self._words

    def _has_acronym(self, entity: str) -> bool:
        """Return whether the sentence writes out what ``entity`` abbreviates."""
        letters = entity.strip().replace(".", "")
        return letters.isupper() and letters in self._initials

    def _has_expansion(self, entity: str) -> bool:
        """Return whether the sentence abbreviates what ``entity`` writes out."""
        words = _WORD.findall(_without_accents(entity))
        for candidate in (words, [word for word in words if word.lower() not in _SMALL]):
            letters = "".join(word[0] for word in candidate).upper()
            if len(letters) >= _LEAST_ACRONYM and letters in self._capitals:
                return True
        return False

    @cached_property
    def _capitals(self) -> frozenset[str]:
        joined = re.sub(r"(?<=\b[A-Z])\.(?=[A-Z]\b)", "", self.sentence)
        return frozenset(word for word in _WORD.findall(joined) if word.isupper())


def is_date(text: str) -> bool:
    """Return whether ``text`` is a calendar date in one of the forms of the data.

    >>> is_date("01 January 2010"), is_date("1944-07-28"), is_date("2010 films")
    (True, True, False)
    """
    return _date(text) is not None


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number, with or without separators of thousands."""
    return _NUMBER.fullmatch(_plain_number(text)) is not None


def _plain_number(text: str) -> str:
    return _GROUPED.sub("", text.strip().strip("\"'"))


def _date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a text that is a date."""
    lowered = _ORDINAL.sub("", text.strip("\"' ").lower())
    if match := _ISO_DATE.fullmatch(lowered):
        return int(match[1]), int(match[2]), int(match[3])
    if (match := _DAY_FIRST.fullmatch(lowered)) and match[2] in _MONTH_NUMBERS:
        return int(match[3]), _MONTH_NUMBERS[match[2]], int(match[1])
    if (match := _MONTH_FIRST.fullmatch(lowered)) and match[1] in _MONTH_NUMBERS:
        return int(match[3]), _MONTH_NUMBERS[match[1]], int(match[2])
    return None


def _without_accents(text: str) -> str:
    """Return ``text`` without the marks of accented letters."""
    if text.isascii():
        return text
    # One character at a time, because normalising a long run of marks takes quadratic time.
    decomposed = (c for character in text for c in unicodedata.normalize("NFKD", character))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


_FILLER = "01januari"  # stems of the day that stands for a whole year


def published_scores(
    triples: Sequence[Triple],
    truth: Sequence[Fact],
    sentence: str,
    ontology: Ontology,
    stems: Callable[[str], str] = stemmed,
) -> dict[str, float]:
    """Precision, recall, F1, conformance and three hallucination rates, each from 0 to 1.

    If the answer has no fact, conformance is 1 and all others are 0, as published; if the reference
    has none, precision, recall and F1 are 0. ``stems`` tokenises and stems texts.
    """
    scores = fact_agreement(triples, truth)
    if not triples:
        return {**scores, "onto_conf": 1.0, "rel_halluc": 0.0, "sub_halluc": 0.0, "obj_halluc": 0.0}
    conforming = sum(triple[1] in ontology.relation_names for triple in triples) / len(triples)
    context = mention_context(sentence, ontology, stems)

    def unmentioned(index: int) -> float:
        entities = (triple[index] for triple in triples)
        return sum(not is_mentioned(entity, context, stems) for entity in entities) / len(triples)

    return {
        **scores,
        "onto_conf": conforming,
        "rel_halluc": 1 - conforming,
        "sub_halluc": unmentioned(0),
        "obj_halluc": unmentioned(2),
    }


def fact_agreement(triples: Sequence[Triple], truth: Sequence[Fact]) -> dict[str, float]:
    """Precision, recall and F1 of the facts whose relation the reference uses."""
    relations = {fact.relation.replace(" ", "_") for fact in truth}
    given = {key(*triple) for triple in triples if triple[1] in relations}
    expected = {key(fact.subject, fact.relation, fact.object) for fact in truth}
    common = len(given & expected)
    precision = common / len(given) if given else 0.0
    recall = common / len(expected) if given else 0.0
    return {"precision": precision, "recall": recall, "f1": harmonic(precision, recall)}


def key(subject: str, relation: str, object_: str) -> str:
    """Return a key that is equal for facts that count as the same."""
    return folded(subject) + folded(relation) + folded(object_)


def mention_context(
    sentence: str, ontology: Ontology, stems: Callable[[str], str] = stemmed
) -> str:
    """Return the stems of the sentence and the concept labels, which follow it without a space."""
    return _context(sentence + " ".join(c.label for c in ontology.concepts), stems)


@lru_cache(maxsize=16)
def _context(text: str, stems: Callable[[str], str]) -> str:
    return stems(text)


def is_mentioned(entity: str, context: str, stems: Callable[[str], str] = stemmed) -> bool:
    """Return whether the stems of ``entity`` are a substring of ``context``."""
    return stems(entity).replace(_FILLER, "") in context


Types = Mapping[str, AbstractSet[str]]
"""Concept ids by folded name of an entity."""

_DATES = frozenset({"date", "year", "point in time"})
_NUMBERS = frozenset({"number", "integer", "float", "double", "quantity"})
_DIGIT = re.compile(r"\d")


def own_scores(
    triples: Sequence[Triple],
    truth: Sequence[Fact],
    sentence: str,
    ontology: Ontology,
    stated: Types | None = None,
) -> dict[str, float]:
    """Exactness, conformance and hallucination rates, each from 0 to 1.

    An answer without facts is not exact, and has none of the other scores.
    ``stated`` are the classes that the answer itself assigns to entities, if its format can.
    """
    if not triples:
        return {"exact": 0.0}
    expected = {key(fact.subject, fact.relation, fact.object) for fact in truth}
    count = len(triples)
    mentioned = _Mentioned(truth, sentence, ontology)
    types = known_types(truth, ontology)
    return {
        "exact": float({key(*triple) for triple in triples} == expected),
        "answeredConf": sum(t[1] in ontology.relation_names for t in triples) / count,
        "strictConf": sum(_conforms(t, ontology, types, stated or {}) for t in triples) / count,
        "subHallucAware": sum(not mentioned.knows(t[0]) for t in triples) / count,
        "objHallucAware": sum(not mentioned.knows(t[2]) for t in triples) / count,
    }


def known_types(truth: Sequence[Fact], ontology: Ontology) -> dict[str, set[str]]:
    """Return the classes of a reference's entities.

    These are the domains and ranges of the relations that the entities have.
    """
    types: dict[str, set[str]] = {}
    for fact in truth:
        for relation in ontology.relations_named.get(fact.relation.replace(" ", "_"), ()):
            for entity, concept in ((fact.subject, relation.domain), (fact.object, relation.range)):
                if concept in ontology.concept_labels:
                    types.setdefault(folded(entity), set()).add(concept)
    return types


class _Mentioned:
    """A test for mentions: by the published rule, in the reference, or in another form."""

    def __init__(self, truth: Sequence[Fact], sentence: str, ontology: Ontology) -> None:
        self._context = mention_context(sentence, ontology)
        self._reference = {folded(name) for f in truth for name in (f.subject, f.object)}
        self._sentence = MentionedIn(sentence)

    def knows(self, entity: str) -> bool:
        return (
            folded(entity) in self._reference
            or is_mentioned(entity, self._context)
            or self._sentence.mentions(entity)
        )


def _conforms(triple: Triple, ontology: Ontology, types: Types, stated: Types) -> bool:
    """Return whether a fact fits a relation of its name, domain and range included."""
    subject, name, object_ = triple
    return any(
        _fits(relation, subject, object_, ontology, types)
        and _as_stated(relation, subject, object_, ontology, stated)
        for relation in ontology.relations_named.get(name, ())
    )


def _fits(relation: Relation, subject: str, object_: str, ontology: Ontology, types: Types) -> bool:
    """Return whether dates and numbers occur only in the range of suitable relations.

    Subject and object must not be reversed.
    """
    if is_date(subject) or is_number(subject):
        return False
    range_label = ontology.concept_labels.get(relation.range, relation.range).lower()
    if range_label in _DATES | _NUMBERS:
        if not _DIGIT.search(object_):
            return False
    elif relation.range in ontology.concept_labels and is_date(object_):
        return False
    return not _reversed(relation, types.get(folded(subject), ()), types.get(folded(object_), ()))


def _reversed(
    relation: Relation, subject: AbstractSet[str] | tuple[()], object_: AbstractSet[str] | tuple[()]
) -> bool:
    """Return whether the known classes of subject and object show that they are swapped."""
    if relation.domain == relation.range:
        return False
    is_right_way = relation.domain in subject or relation.range in object_
    return not is_right_way and relation.range in subject and relation.domain in object_


def _as_stated(
    relation: Relation, subject: str, object_: str, ontology: Ontology, stated: Types
) -> bool:
    """Return whether classes stated by an answer agree with domain and range of the relation."""
    for entity, concept in ((subject, relation.domain), (object_, relation.range)):
        types = stated.get(folded(entity))
        if types and concept in ontology.concept_labels and concept not in types:
            return False
    return True
