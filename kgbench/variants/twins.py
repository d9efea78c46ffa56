# SPDX-License-Identifier: Apache-2.0
"""Doubling of a graph: every instance gets a twin, with links only among twins.

In a small graph many facts are the only ones of their kind (one organisation, to which all
departments belong), so that no permutation changes them. With twins there are two of each, and the
regularities of the graph also hold for the twins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from kgbench.variants.graphs import Facet, Triple, compute_profile, literal, words
from kgbench.variants.rules import Plan

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
