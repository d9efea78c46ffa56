# SPDX-License-Identifier: Apache-2.0
"""Rules of variants of a graph (declared ones, regularities found in it), and plans by them.

Variants keep the instances that a question or its reference query names.

A plan may double a graph: every instance gets a twin, with links only among twins. In a small graph
many facts are the only ones of their kind (one organisation, to which all departments belong), so
that no permutation changes them. With twins there are two of each, and the regularities of the
graph also hold for the twins.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp
from typing import Any

from kgbench.rdf.declared import Declared
from kgbench.variants import redundancy
from kgbench.variants.graphs import Facet, Profile, Triple, compute_profile, literal, words
from kgbench.vocab import KGB

SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Rules:
    """The declared rules of a graph, with IRIs of properties and classes.

    ``kept`` properties never move; ``moved`` ones do although they look like names. ``together``
    are sets of redundant properties. Instances of the ``whole`` classes are never left out.
    ``share`` is the share of the instances of a kind that a variant leaves out, 0 to below 1.
    """

    kept: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    whole: tuple[str, ...] = ()
    share: float = SHARE


NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph with its regularities: the component of each facet, and mandatory properties.

    ``named`` are the facets that identify instances. ``total`` facets have a value for every
    instance of the kind. ``needed`` are pairs of property and kind such that every instance of the
    kind is an object of the property; ``parts`` are the kinds whose instances have one owner each.
    """

    profile: Profile
    named: frozenset[Facet]
    components: Mapping[Facet, int | None]
    total: frozenset[Facet]
    needed: frozenset[tuple[str, str]]
    parts: frozenset[str]
    whole: frozenset[str]
    share: float


@lru_cache(maxsize=4)
def make_plan(triples: tuple[Triple, ...], rules: Rules = NO_RULES) -> Plan:
    """Plan the variants of ``triples`` by ``rules`` and the regularities of the graph."""
    profile = compute_profile(triples)
    declared = {_term(iri) for iri in rules.kept}
    moved = {_term(iri) for iri in rules.moved}
    kept = {facet for facet in redundancy.naming_facets(profile) if facet.property not in moved}
    kept |= {facet for facet in profile.facets() if facet.property in declared}
    together = [{_term(iri) for iri in iris} for iris in rules.together]
    components = redundancy.components(profile, kept, together)
    total = frozenset(
        facet
        for facet in profile.facets()
        if len(profile.values(facet)) == len(profile.members[facet.kind])
    )
    needed, parts = _required_properties(profile)
    classes = {_term(iri) for iri in rules.whole}
    whole = frozenset(kind for kind in profile.members if classes & set(kind.split(" ")))
    return Plan(profile, frozenset(kept), components, total, needed, parts, whole, rules.share)


def read(source: Declared, node: Any) -> Rules:
    """Return the rules that ``source`` declares at ``node`` (a ``kgb:VariantRules``)."""
    return Rules(
        kept=tuple(source.texts(node, KGB.keptProperty)),
        moved=tuple(source.texts(node, KGB.movedProperty)),
        together=tuple(
            tuple(source.texts(group, KGB.redundantProperty))
            for group in source.objects(node, KGB.redundancy)
        ),
        whole=tuple(source.texts(node, KGB.completeClass)),
        share=SHARE
        if (declared_share := source.read(node, KGB.omittedShare, float)) is None
        else declared_share,
    )


def _required_properties(profile: Profile) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """Return properties that refer to every instance of a kind, and kinds of parts.

    Many links reach a few instances anyway, so a property counts only if random links would
    probably miss an instance (the expected number of missed instances is at most that of empty
    boxes after throwing balls, members * (1 - 1 / members) ** links).
    """
    owners: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for facet, pairs in profile.links.items():
        for _, o in pairs:
            owners[facet.property, profile.kinds[o]][o] += 1
    needed = set()
    parts = set()
    for (p, kind), counts in owners.items():
        members = len(profile.members[kind])
        missed = members * (1 - 1 / members) ** counts.total()
        if len(counts) == members and exp(-missed) < redundancy.COINCIDENCE:
            needed.add((p, kind))
            if set(counts.values()) == {1}:
                parts.add(kind)
    return frozenset(needed), frozenset(parts)


def _term(iri: str) -> str:
    return f"<{iri}>"


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


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ROTATED = _LETTERS[13:] + _LETTERS[:13]
_REPLACEMENTS = str.maketrans(
    f"{_LETTERS}{_LETTERS.upper()}0123456789", f"{_ROTATED}{_ROTATED.upper()}5678901234"
)
# An escape sequence, whose letters and digits do not belong to the text, or a word.
_PIECE = re.compile(r"\\(?:u.{4}|U.{8}|.)|[^\W_]+", re.DOTALL)


def plan_with_twins(plan: Plan, triples: tuple[Triple, ...], coded: Callable[[str], str]) -> Plan:
    """Return ``plan`` for ``triples`` and their twins; the components of properties do not change.

    ``coded`` gives the twin of an instance. Names of twins have letters and digits replaced
    consistently, so that texts which repeat a name repeat that of its twin. Words that twins share
    with their instances are kept. Instances that the schema refers to, and those of classes that
    are declared to be complete, have no twins.
    """
    profile = plan.profile
    twins = {
        instance: coded(instance)
        for kind, members in profile.members.items()
        if kind not in plan.whole
        for instance in members
        if instance not in profile.anchored
    }
    naming = {facet for facet in profile.attributes if _identifies(plan, facet)}
    kept_words = set(_shared_words(plan, triples, twins, naming))
    names = {name for facet in naming for _, name in profile.attributes[facet]}
    added = []
    for s, p, o in triples:
        if s in twins:
            is_name = Facet(p, profile.kinds[s]) in naming and o not in profile.kinds
            value = _renamed(o, twins[s], kept_words, names) if is_name else twins.get(o, o)
            added.append((twins[s], p, value))
    return replace(plan, profile=compute_profile((*triples, *added)))


def _identifies(plan: Plan, facet: Facet) -> bool:
    """Return whether a property has names, or texts that stay with instances and rarely repeat."""
    if plan.components.get(facet, 0) is not None:
        return False
    values = [value for _, value in plan.profile.attributes[facet]]
    texts = [literal(value) for value in values]
    is_text = all(text is not None and text.is_text for text in texts)
    return facet in plan.named or (is_text and len(set(values)) * 2 >= len(values))


def _shared_words(
    plan: Plan, triples: Sequence[Triple], twins: Mapping[str, str], naming: Collection[Facet]
) -> Iterator[str]:
    """Yield the words of values that instances share with their twins, which names may repeat."""
    kinds = plan.profile.kinds
    common = {o for s, _, o in triples if s in twins and o not in twins}
    for term in common:
        if literal(term) is None:
            yield from words(term.rstrip(">").rpartition("/")[2].rpartition("#")[2]).split()
    for s, p, o in triples:
        facet = Facet(p, kinds.get(s, ""))
        is_fixed = plan.components.get(facet) is None and facet not in naming
        text = literal(o)
        if text is not None and (is_fixed if s in twins else s in common):
            yield from words(text.lexical).split()


def _renamed(term: str, twin: str, kept_words: Collection[str], names: Collection[str]) -> str:
    """Return a text with other letters and digits; with a code at the end if it is in ``names``."""
    parsed = literal(term)
    if parsed is None or not parsed.is_text:
        return term

    def other(match: re.Match[str]) -> str:
        piece = match.group()
        return (
            piece
            if piece[0] == "\\" or piece.lower() in kept_words
            else piece.translate(_REPLACEMENTS)
        )

    end = term.rindex('"')
    text = _PIECE.sub(other, term[1:end])
    changed = f'"{text}{term[end:]}'
    return changed if changed not in names else f'"{text} {twin.rstrip(">")[-6:]}{term[end:]}'
