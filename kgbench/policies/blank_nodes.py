# SPDX-License-Identifier: Apache-2.0
"""Comparing sets of rows of terms (triples, quads, changes) up to the names of blank nodes.

Blank nodes with the same surroundings are paired first: by the colours of a refinement (Weisfeiler
and Leman 1968, as in Hogan, Canonical Forms for Isomorphic and Equivalent RDF Graphs, 2017). The
others are paired by how many rows they share. So the agreement is 1 only where the two sets are
isomorphic, and it is 1 for isomorphic sets unless their blank nodes are linked as regularly as in a
lattice, which nothing tells apart but trying.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.model import QueryResult
from kgbench.policies.compare import Comparison
from kgbench.rdf import digest
from kgbench.scoring.agreement import Agreement, agreement

Row = tuple[str | None, ...]
_SELF, _OTHER = "_:self", "_:other"
_CANDIDATES: Final = 50  # blank nodes that one row is compared with
_MOST: Final = 20  # times as many rows with blank nodes as expected; beyond that none is paired


class Compared(NamedTuple):
    """How two sets of rows agree; ``missing`` and ``surplus`` are the rows that the other lacks."""

    agreement: Agreement
    missing: frozenset[Row]
    surplus: frozenset[Row]


def compare_rows(expected: Iterable[Row], given: Iterable[Row]) -> Compared:
    """Agreement of two sets of rows; an empty ``given`` has precision 0.

    Blank nodes (cells that begin with ``_:``) of ``given`` bear the names of their partners in
    ``surplus``. Takes time that is linear in the rows given, for a number of expected ones.
    """
    wanted, rows = frozenset(expected), frozenset(given)
    names = paired(wanted, rows)
    found = frozenset(_renamed(row, names) for row in rows)
    common = wanted & found
    score = agreement(len(common), len(rows), len(wanted), precision_of_nothing=0.0)
    return Compared(score, wanted - common, found - common)


def compare_changes(expected: QueryResult, answer: QueryResult) -> Comparison:
    """Compare what two texts write (:meth:`kgbench.model.Executor.changes`).

    The scores are ``f1`` and ``exact``. A text that cannot be executed is wrong.
    """
    if answer.error is not None:
        return Comparison({"f1": 0.0, "exact": 0.0}, f"it cannot be executed: {answer.error}")
    found = compare_rows(expected.rows, answer.rows)
    exact = float(not found.missing and not found.surplus)
    reason = f"{len(found.missing)} triples are missing, and {len(found.surplus)} are too many"
    return Comparison({"f1": found.agreement.f1, "exact": exact}, reason)


def paired(expected: Iterable[Row], given: Iterable[Row]) -> dict[str, str]:
    """For blank nodes of ``given`` their partners in ``expected``, one each.

    >>> paired({("_:a", "<p>", '"1"')}, {("_:x", "<p>", '"1"'), ("_:y", "<p>", '"2"')})
    {'_:x': '_:a'}
    """
    wanted, rows = _with_blanks(expected), _with_blanks(given)
    names: dict[str, str] = {}
    if not wanted or len(rows) > _MOST * len(wanted):
        return names
    own, theirs = _by_node(wanted), _by_node(rows)
    while (pair := _alike(own, theirs, names)) is not None:
        names |= pair
    _pair_similar(own, theirs, names)
    return names


def _alike(
    own: Mapping[str, list[Row]], theirs: Mapping[str, list[Row]], names: Mapping[str, str]
) -> dict[str, str] | None:
    """Further pairs of the same colour: all that are clear, else one of those that are not."""
    fixed = set(names.values())
    left = _classes(own, {node: f"={node}" for node in fixed})
    right = _classes(theirs, {node: f"={name}" for node, name in names.items()}, left.rounds)
    found: dict[str, str] = {}
    unclear: dict[str, str] = {}
    for colour in sorted(left.nodes.keys() & right.nodes.keys()):
        nodes, others = left.nodes[colour], right.nodes[colour]
        if nodes[0] in fixed:
            continue
        if len(nodes) == len(others) == 1:
            found[others[0]] = nodes[0]
        elif not unclear:
            unclear[others[0]] = nodes[0]
    return found or unclear or None


class _Classes(NamedTuple):
    """Blank nodes by colour, and after how many rounds the colours told no more apart."""

    nodes: Mapping[str, list[str]]
    rounds: int


def _classes(
    rows: Mapping[str, list[Row]], fixed: Mapping[str, str], rounds: int | None = None
) -> _Classes:
    colours: dict[str, str] = {node: fixed.get(node, "") for node in rows}
    number, kinds = 0, len(set(colours.values()))
    while rounds is None or number < rounds:
        colours = {
            node: fixed.get(node)
            or digest(repr(sorted(repr(_seen(row, node, colours)) for row in own)))
            for node, own in rows.items()
        }
        number += 1
        now = len(set(colours.values()))
        if rounds is None and now == kinds:
            break
        kinds = now
    nodes: dict[str, list[str]] = defaultdict(list)
    for node in sorted(colours):
        nodes[colours[node]].append(node)
    return _Classes(nodes, number)


def _pair_similar(
    own: Mapping[str, list[Row]], theirs: Mapping[str, list[Row]], names: dict[str, str]
) -> None:
    """Pair the nodes that are left with those that share most rows, other blank nodes aside."""
    partners = {name: name for name in names.values()}
    free: dict[Row, list[str]] = defaultdict(list)
    for node in sorted(theirs.keys() - names.keys()):
        for row in {_seen(row, node, names) for row in theirs[node]}:
            free[row].append(node)
    for node in sorted(own.keys() - partners.keys()):
        shared: Counter[str] = Counter()
        for row in {_seen(row, node, partners) for row in own[node]}:
            shared.update([other for other in free[row] if other not in names][:_CANDIDATES])
        if shared:
            most = max(shared.values())
            names[min(other for other, number in shared.items() if number == most)] = node


def _seen(row: Row, node: str, colours: Mapping[str, str]) -> Row:
    """A row as one of its blank nodes sees it: other blank nodes by their colours."""
    return tuple(
        cell
        if not _is_blank(cell)
        else _SELF
        if cell == node
        else f"_{colours.get(str(cell), _OTHER)}"
        for cell in row
    )


def _by_node(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for cell in {cell for cell in row if cell is not None and _is_blank(cell)}:
            found[cell].append(row)
    return found


def _with_blanks(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if any(map(_is_blank, row))]


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    """A row with the partners of its blank nodes; a node without one is none of the expected."""
    return tuple(
        cell if cell is None or not _is_blank(cell) else names.get(cell, f"_:without {cell[2:]}")
        for cell in row
    )


def _is_blank(cell: str | None) -> bool:
    return cell is not None and cell.startswith("_:")
