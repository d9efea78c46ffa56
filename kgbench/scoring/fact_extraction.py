# SPDX-License-Identifier: Apache-2.0
"""The seven metrics of Text2KGBench for the facts extracted from one sentence.

Mihindukulasooriya et al., Text2KGBench, ISWC 2023, section 4, with the details of the evaluator
that was published with it: relations are compared exactly, subjects and objects after removing
white space, underscores and case; precision and recall consider only facts whose relation occurs in
the reference; a subject or object is a hallucination if its stems are not a substring of the stems
of sentence and concept labels; the filler ``01 January`` of dates is ignored in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from kgbench.scoring.agreement import harmonic
from kgbench.scoring.ontology_facts import Fact, Ontology
from kgbench.scoring.relation_triples import Triple
from kgbench.scoring.stems import folded, stemmed

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
