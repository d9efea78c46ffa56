# SPDX-License-Identifier: Apache-2.0
"""Selection of the relevant part of an ontology that is too large for a prompt.

Relations are ranked by the similarity of the sentence with their labels and those of their domains
and ranges: the share of a label's trigrams that the sentence contains, with double weight for the
relation's own label. Ties are decided by a hash of seed and label. The best relations are selected
while they fit, and are shown in the order of the ontology.
"""

from __future__ import annotations

import hashlib
import re

from kgbench.scoring.ontology_facts import Ontology, Relation

_GRAM = 3
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CODE = re.compile(r"Q\d+")
_WORD = re.compile(r"[^\W_]+")


def shown_relations(
    ontology: Ontology, sentence: str, budget: int, seed: int = 0
) -> list[int] | None:
    """Return the numbers of the relations to show, ascending; ``None`` if all fit or budget is 0.

    ``budget`` is in characters of ``verbalised_relation``. At least one relation is shown.
    """
    sizes = [len(verbalised_relation(ontology, relation)) + 2 for relation in ontology.relations]
    concepts = sum(len(concept.label) + 2 for concept in ontology.concepts)
    if not budget or sum(sizes) + concepts <= budget:
        return None
    grams = _grams(sentence)
    order = sorted(
        range(len(sizes)),
        key=lambda k: (-_score(ontology, ontology.relations[k], grams), _tie(ontology, k, seed)),
    )
    chosen: list[int] = []
    shown_concepts: set[str] = set()
    spent = 0
    for k in order:
        relation = ontology.relations[k]
        new = {
            c for c in (relation.domain, relation.range) if c in ontology.concept_labels
        } - shown_concepts
        cost = sizes[k] + sum(len(ontology.concept_labels[c]) + 2 for c in new)
        if not chosen or spent + cost <= budget:
            chosen.append(k)
            shown_concepts |= new
            spent += cost
    return sorted(chosen)


def verbalised_relation(ontology: Ontology, relation: Relation) -> str:
    """Return ``name(domain, range)`` with the labels of the concepts.

    A domain or range that is not a concept of the ontology is left empty, except for a range that
    is a word (``string``, ``number``) and not a Wikidata identifier, which is shown as it is.
    """
    labels = ontology.concept_labels
    unknown = "" if _CODE.fullmatch(relation.range) else relation.range
    domain, range_ = labels.get(relation.domain, ""), labels.get(relation.range, unknown)
    return f"{relation.name}({domain}, {range_})"


def _score(ontology: Ontology, relation: Relation, grams: frozenset[str]) -> float:
    labels = ontology.concept_labels
    own = 2 * _share(relation.label, grams)
    return own + sum(_share(labels.get(c, ""), grams) for c in (relation.domain, relation.range))


def _share(label: str, grams: frozenset[str]) -> float:
    label_grams = _grams(label)
    return len(label_grams & grams) / len(label_grams) if label_grams else 0.0


def _grams(text: str) -> frozenset[str]:
    words = _WORD.findall(_CAPITAL.sub(" ", text).lower())
    padded = [f" {word} " for word in words]
    return frozenset(w[k : k + _GRAM] for w in padded for k in range(len(w) - _GRAM + 1))


def _tie(ontology: Ontology, k: int, seed: int) -> str:
    return hashlib.sha256(
        f"{seed}/{ontology.id}/{ontology.relations[k].label}".encode()
    ).hexdigest()
