# SPDX-License-Identifier: Apache-2.0
"""Omission of instances from a graph, preserving regularities of all instances of a kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

from kgbench.variants.profile import Facet
from kgbench.variants.rules import Plan
from kgbench.variants.triples import Triple

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
