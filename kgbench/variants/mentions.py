# SPDX-License-Identifier: Apache-2.0
"""Which instances a question or its reference query names: these stay in every variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from kgbench.variants.rules import NONE, Rules, planned
from kgbench.variants.triples import Triple, literal, words

_SHORTEST = 3  # letters of a text that can be a name
_MOST = 10  # instances that a name is taken to mean; what more have is no name


@lru_cache(maxsize=4)
def names(triples: tuple[Triple, ...], rules: Rules = NONE) -> Mapping[str, frozenset[str]]:
    """The instances (N-Triples terms) by the words of each of their names (see ``words``)."""
    plan = planned(triples, rules)
    found: dict[str, set[str]] = defaultdict(set)
    for facet in sorted(plan.named):
        for subject, value in plan.profile.attributes.get(facet, ()):
            text = literal(value)
            if text is not None and text.is_text:
                found[words(text.lexical)].add(subject)
    return {name: frozenset(each) for name, each in found.items()}


def named(
    triples: tuple[Triple, ...],
    iris: Collection[str],
    texts: Collection[str],
    question: str,
    rules: Rules = NONE,
) -> set[str]:
    """The instances that a question names, as N-Triples terms.

    ``iris`` and ``texts`` are those that its reference query writes out. An instance is named by
    its IRI, by a name in the question, or by a text that is one of its names or a part of one.
    """
    kinds = planned(triples, rules).profile.kinds
    found = {f"<{iri}>" for iri in iris} & kinds.keys()
    known = names(triples, rules)
    asked = words(question)
    sought = {words(text) for text in texts if len(text) >= _SHORTEST}
    for instances in _meant(known, asked, sought):
        if len(instances) <= _MOST:
            found |= instances
    return found


def _meant(
    known: Mapping[str, frozenset[str]], asked: str, sought: Collection[str]
) -> Iterator[frozenset[str]]:
    for name, instances in known.items():
        if len(name.strip()) >= _SHORTEST and name in asked:
            yield instances
    for text in sorted(sought):
        part = text.strip()
        if part:
            yield frozenset().union(*(each for name, each in known.items() if part in name))
