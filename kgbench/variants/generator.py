# SPDX-License-Identifier: Apache-2.0
"""Deterministic generator of variants from a graph, a kind of variant and a seed.

All random choices are orders by a digest of seed and names, so they depend neither on the process
nor on the order of the triples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from kgbench.variants import VariantKind
from kgbench.variants.graphs import Facet, Triple, as_ntriples, literal, read
from kgbench.variants.rules import NO_RULES, Plan, Rules, make_plan, plan_with_twins
from kgbench.vocab import OWL, RDF, RDFS

VERSION = "1"
_CACHED = 32  # variants, because many answers are judged on each
_EXCHANGING = frozenset((VariantKind.SHUFFLED, VariantKind.DOUBLED))


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe of a variant, which with generator version and graph determines every triple.

    ``named`` are the IRIs of instances and properties in questions or reference queries; named
    instances are never left out.
    """

    kind: VariantKind
    seed: int
    named: tuple[str, ...] = ()
    rules: Rules = NO_RULES


@lru_cache(maxsize=_CACHED)
def variant(text: str, media: str, recipe: Recipe) -> str:
    """Return the variant of a document as N-Triples, with sorted lines."""
    return as_ntriples(sorted(variant_triples(read(text, media), recipe)))


def variant_triples(triples: tuple[Triple, ...], recipe: Recipe) -> Iterable[Triple]:
    """Return the triples of a variant, each once."""
    plan = make_plan(triples, recipe.rules)
    named = {f"<{iri}>" for iri in recipe.named}
    if recipe.kind in _EXCHANGING:
        if recipe.kind is VariantKind.DOUBLED:
            plan = _plan_twins(triples, recipe.rules)
        draw = _Draw(recipe.seed)
        shuffled = [*plan.profile.fixed, *_shuffled(plan, draw)]
        return omit_instances(plan, shuffled, named, draw.order, draw.fraction)
    if recipe.kind is VariantKind.DISTRACTORS:
        return {*triples, *_distractors(plan, triples, _Draw(recipe.seed))}
    if recipe.kind is VariantKind.EMPTIED:
        return _without_property(plan, triples, named, _Draw(recipe.seed))
    codes = opaque_codes(triples, recipe)
    return [(codes.get(s, s), codes.get(p, p), codes.get(o, o)) for s, p, o in triples]


@lru_cache(maxsize=_CACHED)
def opaque_codes(triples: tuple[Triple, ...], recipe: Recipe) -> Mapping[str, str]:
    """Return the codes for instances and properties in an opaque variant, as N-Triples terms."""
    plan = make_plan(triples, recipe.rules)
    draw = _Draw(recipe.seed)
    standard = tuple(f"<{namespace}" for namespace in (RDF, RDFS, OWL))
    properties = {p for _, p, _ in triples if not p.startswith(standard)}
    instances = {s for s in plan.profile.kinds if s.startswith("<")}
    return {term: _opaque(term, draw) for term in sorted(instances | properties)}


@lru_cache(maxsize=4)
def _plan_twins(triples: tuple[Triple, ...], rules: Rules) -> Plan:
    """Return the plan for the graph with twins, the same for all seeds."""
    draw = _Draw(0)
    return plan_with_twins(make_plan(triples, rules), triples, lambda term: _opaque(term, draw))


class _Draw:
    """Seeded random choices that depend only on names."""

    def __init__(self, seed: int) -> None:
        self._seed = blake2b(f"{VERSION} {seed}".encode(), digest_size=32).digest()

    def digest(self, *names: str) -> bytes:
        """Eight pseudo-random bytes."""
        content = "\0".join(names).encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=8, key=self._seed).digest()

    def order(self, terms: Iterable[str], *names: str) -> list[str]:
        """Return ``terms`` in an order drawn for ``names``."""
        return sorted(terms, key=lambda term: self.digest(*names, term))

    def fraction(self, *names: str) -> float:
        """Return a number from 0 to below 1."""
        return int.from_bytes(self.digest(*names)) / 2**64


def _shuffled(plan: Plan, draw: _Draw) -> Iterator[Triple]:
    """Move facts to other instances of the same kind, by one permutation for each component.

    Within a component, a variant is the same graph with renamed instances. So inverse and symmetric
    properties, codes of values and paths with the same meaning remain consistent.
    """
    profile = plan.profile
    moves: dict[tuple[int, str], Mapping[str, str]] = {}

    def move(component: int, term: str) -> str:
        kind = profile.kinds[term]
        if (component, kind) not in moves:
            members = profile.members[kind]
            # A component is identified by its first facet, which the graph's content determines.
            first = names[component]
            drawn = draw.order(members, "move", *first, kind)
            moves[component, kind] = dict(zip(members, drawn, strict=True))
        return moves[component, kind][term]

    names: dict[int, Facet] = {}
    for facet, component in plan.components.items():
        if component is not None:
            names.setdefault(component, facet)
    for facet, component in plan.components.items():
        p = facet.property
        links, attributes = profile.links.get(facet, ()), profile.attributes.get(facet, ())
        if component is None:
            yield from ((s, p, o) for s, o in (*links, *attributes))
        else:
            yield from ((move(component, s), p, move(component, o)) for s, o in links)
            yield from ((move(component, s), p, o) for s, o in attributes)


def _distractors(plan: Plan, triples: Sequence[Triple], draw: _Draw) -> Iterator[Triple]:
    """Yield copies of instances with other names, and of the parts that belong only to them.

    A copy has the attributes of its instance and links to other copies; it links to other instances
    only by properties with one value, and if such an instance links back, it also links to the
    copy.
    """
    profile = plan.profile
    facts: dict[str, list[Triple]] = {}
    incoming: dict[str, list[Triple]] = {}
    for triple in triples:
        facts.setdefault(triple[0], []).append(triple)
        if triple[2] in profile.kinds:
            incoming.setdefault(triple[2], []).append(triple)
    copies = _copies(plan, facts, draw)
    single = {
        facet
        for facet in profile.facets()
        if all(len(objects) == 1 for objects in profile.values(facet).values())
    }
    for instance, copy in copies.items():
        kind = profile.kinds[instance]
        owners = set()
        for _, p, o in facts.get(instance, ()):
            facet = Facet(p, kind)
            if o in copies:
                yield copy, p, copies[o]
            elif o not in profile.kinds:
                is_name = plan.components.get(facet, 0) is None
                yield copy, p, _renamed(o, copy) if is_name else o
            elif facet in single:
                owners.add(o)
                yield copy, p, o
        for s, p, _ in incoming.get(instance, ()):
            if s in owners and Facet(p, profile.kinds[s]) not in single:
                yield s, p, copy


def _copies(plan: Plan, facts: Mapping[str, Sequence[Triple]], draw: _Draw) -> dict[str, str]:
    """Return the terms of copies by copied instance.

    Kinds are not copied if every instance must be the object of a link, or has several links to
    instances that are not its parts, because only the copies would lack such links.
    """
    profile = plan.profile
    required = {kind for _, kind in plan.needed}
    for facet in plan.total & profile.links.keys():
        several = any(len(objects) > 1 for objects in profile.values(facet).values())
        if several and not {profile.kinds[o] for _, o in profile.links[facet]} <= plan.parts:
            required.add(facet.kind)
    copies: dict[str, str] = {}
    for kind, members in sorted(profile.members.items()):
        if kind not in required | plan.parts | plan.whole:
            count = max(round(plan.share * len(members)), 1)
            free = [member for member in members if member not in profile.anchored]
            copies |= {
                instance: _opaque(instance, draw)
                for instance in draw.order(free, "copy", kind)[:count]
            }
    waiting = list(copies)
    while waiting:
        for _, _, o in facts.get(waiting.pop(), ()):
            if profile.kinds.get(o) in plan.parts and o not in copies:
                copies[o] = _opaque(o, draw)
                waiting.append(o)
    return copies


def _without_property(
    plan: Plan, triples: Sequence[Triple], named: Collection[str], draw: _Draw
) -> list[Triple]:
    """Return the graph without the facts of one of the ``named`` properties and redundant ones.

    Properties that repeat in names are chosen only if there are no others.
    """
    facets = [facet for facet in plan.components if facet.property in named]
    free = [facet for facet in facets if plan.components[facet] is not None]
    chosen = set(draw.order({facet.property for facet in free or facets}, "empty")[:1])
    omitted_components = {
        plan.components[facet] for facet in facets if facet.property in chosen
    } - {None}
    kinds = plan.profile.kinds
    return [
        (s, p, o)
        for s, p, o in triples
        if p not in chosen
        and (s not in kinds or plan.components.get(Facet(p, kinds[s])) not in omitted_components)
    ]


def _opaque(term: str, draw: _Draw) -> str:
    """Return an opaque IRI in the namespace of ``term``; for a blank node, another blank node."""
    code = draw.digest("code", term).hex()
    if term.startswith("_:"):
        return f"_:n{code}"
    end = max(term.rfind("/"), term.rfind("#"), term.rfind(":")) + 1
    return f"{term[:end]}n{code}>"


def _renamed(term: str, copy: str) -> str:
    """Return a name with a code at the end; a value that is not a text is kept."""
    parsed = literal(term)
    if parsed is None or not parsed.is_text:
        return term
    end = term.rindex('"')
    return f"{term[:end]} {copy.rstrip('>')[-6:]}{term[end:]}"


Order = Callable[..., list[str]]


def omit_instances(
    plan: Plan,
    triples: Sequence[Triple],
    named: Collection[str],
    order: Order,
    fraction: Callable[..., float],
) -> list[Triple]:
    """Return ``triples`` without a share of the instances of each kind, drawn by ``order``.

    An instance that would lose a property that all instances of its kind have, or the last
    reference to it if all instances of its kind have one, is also omitted. If this would omit a
    named instance or more than half of a kind, nothing is omitted.
    """
    omission = _Omission(plan, triples, named)
    for kind, members in sorted(plan.profile.members.items()):
        if kind in plan.whole or kind in plan.parts:
            continue
        count = int(plan.share * len(members) + fraction("omit", kind))
        for instance in order(members, "omit", kind)[:count]:
            omission.try_without(instance)
    return [
        (s, p, o) for s, p, o in triples if s not in omission.omitted and o not in omission.omitted
    ]


class _Omission:
    """The instances omitted so far, and the numbers of links of the others."""

    def __init__(self, plan: Plan, triples: Sequence[Triple], named: Collection[str]) -> None:
        self.omitted: set[str] = set()
        self._plan = plan
        self._must_stay = {*plan.profile.anchored, *named}
        self._kinds = plan.profile.kinds
        self._left = {kind: len(members) for kind, members in plan.profile.members.items()}
        self._least = {
            kind: max(1, (len(members) + 1) // 2) for kind, members in plan.profile.members.items()
        }
        self._out: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._in: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._values: Counter[tuple[str, str]] = Counter()
        self._owners: Counter[tuple[str, str]] = Counter()
        for s, p, o in triples:
            if s not in self._kinds:
                continue
            self._values[s, p] += 1
            if o in self._kinds:
                self._out[s].append((p, o))
                self._in[o].append((p, s))
                self._owners[o, p] += 1

    def try_without(self, instance: str) -> None:
        """Omit ``instance`` and dependent instances, unless one of these must be kept."""
        going: dict[str, None] = {}
        values: Counter[tuple[str, str]] = Counter()
        owners: Counter[tuple[str, str]] = Counter()
        waiting = [instance]
        kinds: Counter[str] = Counter()
        while waiting:
            candidate = waiting.pop()
            if candidate in going or candidate in self.omitted:
                continue
            kind = self._kinds[candidate]
            kinds[kind] += 1
            if candidate in self._must_stay or self._left[kind] - kinds[kind] < self._least[kind]:
                return
            going[candidate] = None
            waiting += self._dependents(candidate, values, owners)
        self.omitted |= going.keys()
        self._values.subtract(values)
        self._owners.subtract(owners)
        self._left = {kind: n - kinds[kind] for kind, n in self._left.items()}

    def _dependents(
        self, instance: str, values: Counter[tuple[str, str]], owners: Counter[tuple[str, str]]
    ) -> Iterator[str]:
        """Yield instances that break a regularity of their kind if ``instance`` is omitted."""
        for p, s in self._in[instance]:
            values[s, p] += 1
            is_last = self._values[s, p] == values[s, p]
            if is_last and Facet(p, self._kinds[s]) in self._plan.total:
                yield s
        for p, o in self._out[instance]:
            owners[o, p] += 1
            is_last = self._owners[o, p] == owners[o, p]
            if is_last and (p, self._kinds[o]) in self._plan.needed:
                yield o
