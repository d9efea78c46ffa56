# SPDX-License-Identifier: Apache-2.0
"""Detection of redundant properties of a graph, which can only change together.

A graph often states a fact twice: a country and its code, a property and its inverse, an amount and
a label that repeats it. Right queries may use either. Every rule here looks for a regularity
without exception, and computes its probability if the two properties were independent; the
regularity counts if this is less than :data:`COINCIDENCE`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import log
from typing import Any, TypeAlias

from kgbench.variants.graphs import Facet, Profile, literal, words
from kgbench.vocab import DCTERMS, FOAF, RDFS, SCHEMA, SKOS, VCARD

COINCIDENCE = 0.001
_SAMPLE = 500  # instances of a kind that are examined
_REPEATED = Fraction(1, 2)  # least share of the values that a kept text repeats
_KEY = Fraction(9, 10)  # least share of distinct texts of a property that identifies instances

Values: TypeAlias = Mapping[str, str]
_Number: TypeAlias = tuple[str, Any]  # "number" or "time", and the sort key


def naming_facets(profile: Profile) -> set[Facet]:
    """Return the facets that identify instances: names, labels, e-mail addresses, identifiers.

    These are the properties whose values are texts (or IRIs that the graph does not describe) and
    rarely equal for two instances of a kind, and well-known naming properties.
    """
    facets = set()
    for facet, pairs in profile.attributes.items():
        values = [value for _, value in pairs]
        if facet.property in _NAMING or (
            facet not in profile.links
            and all(_is_textual(value) for value in values)
            and len(set(values)) >= _KEY * len(values)
            and len(values) > 1
        ):
            facets.add(facet)
    return facets


def components(
    profile: Profile, kept_facets: Collection[Facet], together: Iterable[Collection[str]] = ()
) -> dict[Facet, int | None]:
    """Return the number of the component of each facet; ``None`` for facets that do not move.

    Facets of one component are redundant and move together. ``kept_facets`` and all that are
    redundant with them do not move. ``together`` are sets of properties declared to be redundant.
    """
    ties = _Ties(profile.facets())
    for facet in kept_facets:
        ties.fix(facet)
    for facet in _repeated(profile, kept_facets):
        ties.fix(facet)
    for properties in together:
        ties.tie([facet for facet in profile.facets() if facet.property in properties])
    for tied in _redundant_facets(profile, kept_facets):
        ties.tie(tied)
    return ties.numbers()


def _redundant_facets(
    profile: Profile, kept_facets: Collection[Facet]
) -> Iterator[tuple[Facet, ...]]:
    """Yield groups of facets that are redundant by any of the rules."""
    single = {
        facet: _single(profile, facet) for facet in profile.facets() if facet not in kept_facets
    }
    by_kind: dict[str, list[Facet]] = defaultdict(list)
    for facet, values in single.items():
        if values:
            by_kind[facet.kind].append(facet)
    for facets in by_kind.values():
        for first, second in permutations(facets, 2):
            if _determines(single[first], single[second]):
                yield first, second
        for first, second in combinations(facets, 2):
            if _ordered(single[first], single[second]):
                yield first, second
    yield from _along_paths(profile, single, by_kind)
    yield from _same_links(profile)
    yield from _same_parts(profile)


class _Ties:
    """Disjoint sets of facets (union-find); the set of ``None`` does not move."""

    def __init__(self, facets: Iterable[Facet]) -> None:
        self._parent: dict[Facet | None, Facet | None] = {facet: facet for facet in facets}
        self._parent[None] = None

    def tie(self, facets: Sequence[Facet]) -> None:
        for facet in facets[1:]:
            self._join(facets[0], facet)

    def fix(self, facet: Facet) -> None:
        self._join(None, facet)

    def numbers(self) -> dict[Facet, int | None]:
        roots: dict[Facet, int] = {}
        components_by_facet: dict[Facet, int | None] = {}
        for facet in sorted(facet for facet in self._parent if facet is not None):
            root = self._root(facet)
            components_by_facet[facet] = (
                None if root is None else roots.setdefault(root, len(roots))
            )
        return components_by_facet

    def _join(self, facet: Facet | None, other: Facet | None) -> None:
        first, second = self._root(facet), self._root(other)
        if first is None:
            first, second = second, first
        self._parent[first] = second

    def _root(self, facet: Facet | None) -> Facet | None:
        while self._parent[facet] != facet:
            facet = self._parent[facet]
        return facet


def _is_textual(value: str) -> bool:
    parsed = literal(value)
    return parsed is None or parsed.is_text


def _single(profile: Profile, facet: Facet) -> Values:
    """Return the values of a sample of subjects; empty if a subject has more than one value."""
    values = profile.values(facet)
    if any(len(objects) > 1 for objects in values.values()) or len(values) < 2:  # noqa: PLR2004 - a pair
        return {}
    return {subject: values[subject][0] for subject in sorted(values)[:_SAMPLE]}


def _coincident(times: int, values: Collection[str]) -> bool:
    """Return whether ``times`` agreements of draws from ``values`` may be a coincidence."""
    total = len(values)
    alike = sum((n / total) ** 2 for n in Counter(values).values())
    return times * log(alike) > log(COINCIDENCE)


def _determines(determining: Values, dependent: Values) -> bool:
    """Return whether equal ``determining`` values imply equal ``dependent`` ones, not by chance."""
    value_of: dict[str, str] = {}
    agreed = 0
    for subject in determining.keys() & dependent.keys():
        value = dependent[subject]
        if value_of.setdefault(determining[subject], value) != value:
            return False
        agreed += 1
    return not _coincident(agreed - len(value_of), list(dependent.values()))


def _ordered(left: Values, right: Values) -> bool:
    """Return whether numbers or times of one side are never greater, and not by coincidence."""
    both = sorted(left.keys() & right.keys())
    pairs = [(_number(left[s]), _number(right[s])) for s in both]
    comparable = [(a, b) for a, b in pairs if a is not None and b is not None]
    if len(comparable) < len(pairs) or len({kind for pair in comparable for kind, _ in pair}) != 1:
        return False
    return _below(comparable) or _below([(b, a) for a, b in comparable])


def _below(pairs: Sequence[tuple[_Number, _Number]]) -> bool:
    if any(a > b for a, b in pairs) or all(a == b for a, b in pairs):
        return False
    greater = sorted(b for _, b in pairs)
    below = sum(len(pairs) - bisect_left(greater, a) for a, _ in pairs)
    return len(pairs) * log(below / len(pairs) ** 2) < log(COINCIDENCE)


def _number(term: str) -> _Number | None:
    """Return the sort key of a number or a time; ``None`` for other terms."""
    parsed = literal(term)
    if parsed is None or parsed.is_text:
        return None
    try:
        return ("number", float(parsed.lexical))
    except ValueError:
        return ("time", parsed.lexical) if "date" in parsed.datatype.lower() else None


def _repeated(profile: Profile, kept_facets: Collection[Facet]) -> Iterator[Facet]:
    """Yield facets whose values are repeated in kept texts, at either end of a link."""
    texts: dict[str, list[str]] = defaultdict(list)
    for facet in kept_facets:
        for subject, value in profile.attributes.get(facet, ()):
            texts[subject].append(_words(value))
    for facet, pairs in profile.attributes.items():
        if facet not in kept_facets:
            sample = [(texts[s], [_words(v)]) for s, v in pairs[:_SAMPLE]]
            if _repeats(sample):
                yield facet
    for facet, pairs in profile.links.items():
        some = pairs[:_SAMPLE]
        if _repeats([(texts[s], texts[o]) for s, o in some]) or _repeats(
            [(texts[o], texts[s]) for s, o in some]
        ):
            yield facet


def _repeats(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> bool:
    """Return whether texts contain their own pair's values more often than those of other pairs."""

    def share(shift: int) -> Fraction:
        moved = [*pairs[shift:], *pairs[:shift]]
        hits = sum(
            any(value in text for value in values if value.strip() for text in containing)
            for (containing, _), (_, values) in zip(pairs, moved, strict=True)
        )
        return Fraction(hits, len(pairs))

    if not pairs or (own_share := share(0)) < _REPEATED:
        return False
    return own_share > share(len(pairs) // 2) if len(pairs) > 1 else True


def _words(term: str) -> str:
    parsed = literal(term)
    return words(parsed.lexical) if parsed is not None else words(_local(term))


def _local(term: str) -> str:
    return term.rstrip(">").rpartition("/")[2].rpartition("#")[2]


def _along_paths(
    profile: Profile, single: Mapping[Facet, Values], by_kind: Mapping[str, Sequence[Facet]]
) -> Iterator[tuple[Facet, Facet, Facet]]:
    """Yield facets p, q, r such that the q of a subject is the r of its p."""
    for facets in by_kind.values():
        for p in facets:
            if p not in profile.links:
                continue
            aims = {profile.kinds[o] for o in single[p].values() if o in profile.kinds}
            for q in facets:
                for kind in sorted(aims):
                    for r in by_kind.get(kind, ()):
                        if q != p and _along(single[p], single[q], single[r]):
                            yield p, q, r


def _along(p: Values, q: Values, r: Values) -> bool:
    agreed = 0
    for subject, value in q.items():
        reached = r.get(p.get(subject, ""))
        if reached is None:
            continue
        if reached != value:
            return False
        agreed += 1
    return not _coincident(agreed, list(q.values()))


def _same_links(profile: Profile) -> Iterator[tuple[Facet, Facet]]:
    """Yield facets of which one has all pairs of the other, or all its inverse pairs."""
    pairs = {facet: set(links) for facet, links in profile.links.items()}
    turned = {facet: {(o, s) for s, o in links} for facet, links in pairs.items()}
    for first, second in permutations(sorted(pairs), 2):
        possible = len(profile.members[first.kind]) * len(profile.members[second.kind])
        rare = len(pairs[second]) / max(possible, 1)
        if len(pairs[first]) * log(min(rare, 1.0)) > log(COINCIDENCE):
            continue
        if pairs[first] <= pairs[second] or pairs[first] <= turned[second]:
            yield first, second


def _same_parts(profile: Profile) -> Iterator[tuple[Facet, ...]]:
    """Yield the facets of a property whose objects are unique: parts of several kinds."""
    by_property: dict[str, list[Facet]] = defaultdict(list)
    for facet in sorted(profile.links):
        by_property[facet.property].append(facet)
    for facets in by_property.values():
        objects = [o for facet in facets for _, o in profile.links[facet]]
        if len(facets) > 1 and len(set(objects)) == len(objects):
            yield tuple(facets)


_NAMING = frozenset(
    f"<{iri}>"
    for iri in (
        RDFS.label,
        RDFS.comment,
        SKOS.prefLabel,
        SKOS.altLabel,
        SKOS.notation,
        FOAF.name,
        FOAF.givenName,
        FOAF.firstName,
        FOAF.familyName,
        FOAF.surname,
        FOAF.lastName,
        FOAF.mbox,
        VCARD.fn,
        VCARD.hasEmail,
        SCHEMA.name,
        "http://schema.org/name",
        SCHEMA.identifier,
        "http://schema.org/identifier",
        DCTERMS["title"],
        "http://purl.org/dc/elements/1.1/title",
        DCTERMS.identifier,
        "http://purl.org/dc/elements/1.1/identifier",
    )
)
