# SPDX-License-Identifier: Apache-2.0
"""Detection of instances named in a question or its reference query, which variants must keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from kgbench.variants.rules import NO_RULES, Rules, make_plan
from kgbench.variants.triples import Triple, literal, words

_SHORTEST = 3  # letters of a text that can be a name
_MOST = 10  # instances with a name; a text that more instances have is not a name


@lru_cache(maxsize=4)
def names_to_instances(
    triples: tuple[Triple, ...], rules: Rules = NO_RULES
) -> Mapping[str, frozenset[str]]:
    """Return instances (N-Triples terms) by the words of each of their names (see ``words``)."""
    plan = make_plan(triples, rules)
    instances_by_name: dict[str, set[str]] = defaultdict(set)
    for facet in sorted(plan.named):
        for subject, value in plan.profile.attributes.get(facet, ()):
            text = literal(value)
            if text is not None and text.is_text:
                instances_by_name[words(text.lexical)].add(subject)
    return {name: frozenset(instances) for name, instances in instances_by_name.items()}


def instances_in_question(
    triples: tuple[Triple, ...],
    iris: Collection[str],
    texts: Collection[str],
    question: str,
    rules: Rules = NO_RULES,
) -> set[str]:
    """Return the instances that a question names, as N-Triples terms.

    ``iris`` and ``texts`` are those in its reference query. An instance is named by its IRI, by a
    name in the question, or by a text that is one of its names or part of one.
    """
    kinds = make_plan(triples, rules).profile.kinds
    instances_named = {f"<{iri}>" for iri in iris} & kinds.keys()
    by_name = names_to_instances(triples, rules)
    asked = words(question)
    sought = {words(text) for text in texts if len(text) >= _SHORTEST}
    for instances in _meant(by_name, asked, sought):
        if len(instances) <= _MOST:
            instances_named |= instances
    return instances_named


def _meant(
    by_name: Mapping[str, frozenset[str]], question: str, sought: Collection[str]
) -> Iterator[frozenset[str]]:
    for name, instances in by_name.items():
        if len(name.strip()) >= _SHORTEST and name in question:
            yield instances
    for text in sorted(sought):
        part = text.strip()
        if part:
            yield frozenset().union(
                *(named_instances for name, named_instances in by_name.items() if part in name)
            )
