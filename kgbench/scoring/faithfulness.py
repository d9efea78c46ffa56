# SPDX-License-Identifier: Apache-2.0
"""Metrics beside the published ones of Text2KGBench; most are named as missing by its authors.

Rates of an answer without facts are undefined, so that silence is not rewarded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from kgbench.scoring.fact_extraction import is_mentioned, key, mention_context
from kgbench.scoring.mentions import MentionedIn, is_date, is_number
from kgbench.scoring.ontology_facts import Fact, Ontology, Relation
from kgbench.scoring.relation_triples import Triple
from kgbench.scoring.stems import folded

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
