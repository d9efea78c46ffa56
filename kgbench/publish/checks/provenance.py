# SPDX-License-Identifier: Apache-2.0
"""Checks of provenance: the declared constraints, cycles of derivation, and digests of texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks import constraints
from kgbench.publish.checks.report import Fault
from kgbench.rdf import digest, original_text, storable
from kgbench.validation.components import term_text
from kgbench.vocab import KGB, PROV

_DERIVATION = [
    ox.NamedNode(PROV[n]) for n in ("wasDerivedFrom", "wasRevisionOf", "hadPrimarySource")
]
_VALUE, _ORIGINAL = ox.NamedNode(PROV.value), ox.NamedNode(KGB.originalBytes)
_TEXT = re.compile(r"/text/([0-9a-f]{64})\Z")  # others are veiled: their texts were left out
_FileOf = Callable[[Any], str]


def check(quads: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of the constraints of provenance."""
    for constraint in constraints.group("provenance").values():
        yield from constraint.faults(quads, file_of)
    for cycle in cycles(quads):
        path = " from ".join(term_text(node) for node in [*cycle[1:], cycle[0]][:4])
        yield Fault(
            "derivation-cycle",
            getattr(cycle[0], "value", ""),
            file_of(cycle[0]),
            f"It derives from itself: from {path}{' ...' if len(cycle) > 3 else ''}.",  # noqa: PLR2004
            "Remove the prov:wasDerivedFrom or prov:wasRevisionOf that is wrong.",
        )
    yield from _texts(quads, file_of)


def _texts(quads: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield texts whose digest is not that in their IRI, or that differ from their original bytes.

    Prompts and answers name their texts by the digest, so that a changed text would be believed.
    """
    pattern: Any = quads.quads_for_pattern
    for quad in pattern(None, _VALUE, None):
        match = _TEXT.search(getattr(quad.subject, "value", ""))
        if match is None:
            continue
        value = getattr(quad.object, "value", "")
        originals = [getattr(q.object, "value", "") for q in pattern(quad.subject, _ORIGINAL, None)]
        try:
            text = original_text(value, next(iter(originals), None))
        except ValueError:  # not base64, or not UTF-8
            text = ""
        if digest(text) != match[1] or storable(text).value != value:
            yield Fault(
                "digest-of-text",
                quad.subject.value,
                file_of(quad.subject),
                f"The text is not the one that the IRI names: its SHA-256 is {digest(text)}.",
                "Publish again: the text was changed, or its kgb:originalBytes.",
            )


def cycles(quads: ox.Store) -> Iterator[list[Any]]:
    """Yield cycles of derivation, at least one for each strongly connected group of nodes.

    Time and memory grow with the number of edges between nodes that others derive from.
    """
    pattern = quads.quads_for_pattern
    sources = {q.object for prop in _DERIVATION for q in pattern(None, prop, None)}
    after: dict[Any, list[Any]] = {}
    for prop in _DERIVATION:
        for quad in pattern(None, prop, None):
            if quad.subject in sources:
                after.setdefault(quad.subject, []).append(quad.object)
    done: set[Any] = set()
    for start in after:
        if start not in done:
            yield from _cycles_from(start, after, done)


def _cycles_from(
    start: Any, after: dict[Any, list[Any]], finished_nodes: set[Any]
) -> Iterator[list[Any]]:
    """Search depth first without recursion; a node met again on the current path closes a cycle."""
    path = [start]
    positions = {start: 0}
    open_ = [iter(after.get(start, ()))]
    while path:
        successor = next(open_[-1], None)
        if successor is None:
            node = path.pop()
            del positions[node]
            open_.pop()
            finished_nodes.add(node)
        elif successor in positions:
            cycle = path[positions[successor] :]
            first = min(range(len(cycle)), key=lambda index: str(cycle[index]))
            yield [*cycle[first:], *cycle[:first]]
        elif successor not in finished_nodes and successor in after:
            positions[successor] = len(path)
            path.append(successor)
            open_.append(iter(after[successor]))
