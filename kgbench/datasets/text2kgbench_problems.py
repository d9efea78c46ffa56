# SPDX-License-Identifier: Apache-2.0
"""Detection of problems in the data of Text2KGBench, which are reported and not repaired."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kgbench.datasets.text2kgbench import Part, Sentence, all_sentences

KINDS = {
    "empty-ground-truth": "a test sentence has no expected fact, so its F1 is always 0",
    "relation-outside-ontology": "an expected fact has a relation that the ontology lacks",
    "test-file-differs": "test file and ground truth give different texts, or only one has the id",
    "duplicate-fact": "a sentence has the same expected fact twice",
    "duplicate-id": "an id occurs more than once",
    "duplicate-concept-id": "two concepts share an id",
    "duplicate-relation-label": "two relations share a label",
    "dangling-concept-id": "a domain or range is no concept of the ontology",
    "blank-in-label": "a label begins or ends with a blank",
    "mojibake": "a text looks like UTF-8 that was read as Latin-1",
    "test-in-training": "a test sentence also occurs in the training data",
    "unknown-training-id": "a similarity list names a training sentence that does not exist",
    "unknown-verified-id": "a list of verified sentences names a test sentence that does not exist",
    "turtle-differs": "the ontology's Turtle says other than its JSON",
    "missing-response": "test sentences have no stored response",
    "duplicate-response": "a sentence has several stored responses; the last one counts",
    "unknown-response-id": "a stored response belongs to no sentence",
    "unread-file": "a file of stored responses or metrics is not read",
    "facts-differ": "the stored facts of a response are not those of its text, however cleaned",
    "metrics-missing": "a stored response has no published metrics",
}
"""The kinds of problems, each with a description."""

# A lead byte and a continuation byte of UTF-8, each decoded as Latin-1.
_MOJIBAKE = re.compile("[\u00c2-\u00f4][\u0080-\u00bf]")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: its kind (a key of :data:`KINDS`), the id of its subject, and details."""

    kind: str
    subject: str
    details: str


def problems(part: Part) -> list[Problem]:
    """Return all problems of an ontology and its sentences, in the order of the data."""
    return [*_of_ontology(part), *_of_sentences(part)]


def is_mojibake(text: str) -> bool:
    """Return whether ``text`` looks like UTF-8 that was decoded as Latin-1.

    >>> is_mojibake("Gy\u00c3\u00b6rgy"), is_mojibake("Gy\u00f6rgy")
    (True, False)
    """
    return not text.isascii() and _MOJIBAKE.search(text) is not None


def _of_ontology(part: Part) -> Iterator[Problem]:
    ontology = part.ontology
    for concept, n in Counter(concept.id for concept in ontology.concepts).items():
        if n > 1:
            yield Problem("duplicate-concept-id", ontology.id, f"{concept} occurs {n} times")
    for label, n in Counter(relation.label for relation in ontology.relations).items():
        if n > 1:
            yield Problem("duplicate-relation-label", ontology.id, f"'{label}' occurs {n} times")
    for relation in ontology.relations:
        for kind, concept in (("domain", relation.domain), ("range", relation.range)):
            if concept and concept not in ontology.concept_labels:
                details = f"{kind} {concept} of '{relation.label}'"
                yield Problem("dangling-concept-id", ontology.id, details)
    labels = [c.label for c in ontology.concepts] + [r.label for r in ontology.relations]
    for label in labels:
        if label != label.strip():
            yield Problem("blank-in-label", ontology.id, f"'{label}'")


def _of_sentences(part: Part) -> Iterator[Problem]:
    training = {sentence.text for sentence in part.train}
    known = {relation.label for relation in part.ontology.relations}
    seen: Counter[str] = Counter()
    for kind, sentence in all_sentences(part):
        seen[sentence.id] += 1
        if seen[sentence.id] > 1:
            yield Problem("duplicate-id", sentence.id, f"occurrence {seen[sentence.id]} in {kind}")
        if any(map(is_mojibake, _texts(sentence))):
            yield Problem("mojibake", sentence.id, f"in {kind}")
        yield from _of_facts(sentence, known)
        if kind in ("test", "unseen"):
            if not sentence.facts:
                yield Problem("empty-ground-truth", sentence.id, "no triples")
            if sentence.text in training:
                yield Problem("test-in-training", sentence.id, "the same text")
    yield from _of_test_files(part)
    yield from _of_lists(part)


def _of_test_files(part: Part) -> Iterator[Problem]:
    if not part.test_texts:
        return
    truth = {sentence.id: sentence.text for sentence in (*part.test, *part.unseen)}
    for id_ in {**truth, **part.test_texts}:
        if truth.get(id_) != part.test_texts.get(id_):
            details = (
                "the text differs" if id_ in truth and id_ in part.test_texts else "one lacks it"
            )
            yield Problem("test-file-differs", id_, details)


def _of_lists(part: Part) -> Iterator[Problem]:
    for test_id, ids in part.lists.get("similarity-list", {}).items():
        for name in ids:
            if name not in part.training:
                yield Problem("unknown-training-id", test_id, name)
    for name in sorted(part.verified - {sentence.id for sentence in part.test}):
        yield Problem("unknown-verified-id", part.ontology.id, name)


def _of_facts(sentence: Sentence, known: set[str]) -> Iterator[Problem]:
    for relation in sorted({fact.relation for fact in sentence.facts} - known):
        yield Problem("relation-outside-ontology", sentence.id, f"'{relation}'")
    for fact, n in Counter(sentence.facts).items():
        if n > 1:
            yield Problem("duplicate-fact", sentence.id, f"'{fact.relation}' {n} times")


def _texts(sentence: Sentence) -> Iterator[str]:
    yield sentence.text
    for fact in sentence.facts:
        yield fact.subject
        yield fact.object
