# SPDX-License-Identifier: Apache-2.0
"""Comparison of sets of rows of terms (triples, quads, changes) up to the names of blank nodes.

Blank nodes with the same surroundings are paired first, by colour refinement (Weisfeiler and Leman
1968, as in Hogan, Canonical Forms for Isomorphic and Equivalent RDF Graphs, 2017). The others are
paired by the number of rows that they share. So the agreement is 1 only if the two sets are
isomorphic. It is 1 for all isomorphic sets except those whose blank nodes are linked as regularly
as in a lattice, which only a search could distinguish.

Engines label blank nodes at random. Therefore blank nodes are first numbered by their rows, and
pairs that seem equally good are decided by these numbers. With the same exception, the agreement
does not depend on labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.model import QueryResult
from kgbench.policies.compare import Comparison
from kgbench.policies.values import with_canonical_time
from kgbench.rdf import digest
from kgbench.scoring.agreement import Agreement, agreement

Row = tuple[str | None, ...]
_SELF: Final = "_:self"
_OTHER: Final = "_:other"
_CANDIDATES: Final = 50  # blank nodes that one row is compared with
_MOST_ROWS_RATIO: Final = 20  # given to expected rows with blank nodes; beyond it none is paired


class RowComparison(NamedTuple):
    """The agreement of two sets of rows, and the rows that only one of the two has."""

    agreement: Agreement
    missing: frozenset[Row]
    surplus: frozenset[Row]


def compare_rows(expected: Iterable[Row], answer: Iterable[Row]) -> RowComparison:
    """Agreement of two sets of rows; an empty ``answer`` has precision 0.

    Times, durations and binary data count by value (see :mod:`kgbench.policies.values`).
    In ``surplus``, blank nodes (cells that begin with ``_:``) have the names of their partners in
    ``expected``. The time is linear in the number of rows of the answer.
    """
    expected_rows, answer_rows = (
        frozenset(
            tuple(None if cell is None else with_canonical_time(cell) for cell in row)
            for row in rows
        )
        for rows in (expected, answer)
    )
    names = pair_blank_nodes(expected_rows, answer_rows)
    renamed = frozenset(_renamed(row, names) for row in answer_rows)
    common = expected_rows & renamed
    score = agreement(len(common), len(answer_rows), len(expected_rows), precision_of_nothing=0.0)
    return RowComparison(score, expected_rows - common, renamed - common)


def compare_changes(expected: QueryResult, answer: QueryResult) -> Comparison:
    """Compare the changes that two texts make (:meth:`kgbench.model.Executor.changes`).

    The scores are ``f1`` and ``exact``. A text that cannot be executed is wrong.
    """
    if answer.error is not None:
        return Comparison({"f1": 0.0, "exact": 0.0}, f"it cannot be executed: {answer.error}")
    compared = compare_rows(expected.rows, answer.rows)
    exact = float(not compared.missing and not compared.surplus)
    reason = (
        f"{len(compared.missing)} triples are missing, and {len(compared.surplus)} are too many"
    )
    return Comparison({"f1": compared.agreement.f1, "exact": exact}, reason)


def row_texts(rows: Iterable[Row]) -> list[str]:
    """Return rows as sorted texts, with blank nodes without labels.

    >>> row_texts([("_:x", "<p>", '"1"'), ("<a>", "<p>", None)])
    ['<a> <p>', '_: <p> "1"']
    """
    return sorted(
        " ".join("_:" if is_blank(cell) else cell for cell in row if cell is not None)
        for row in rows
    )


def pair_blank_nodes(expected: Iterable[Row], answer: Iterable[Row]) -> dict[str, str]:
    """Pair blank nodes of ``answer`` with blank nodes of ``expected``, one to one.

    >>> pair_blank_nodes({("_:a", "<p>", '"1"')}, {("_:x", "<p>", '"1"'), ("_:y", "<p>", '"2"')})
    {'_:x': '_:a'}
    """
    expected_rows, answer_rows = _with_blanks(expected), _with_blanks(answer)
    names: dict[str, str] = {}
    if not expected_rows or len(answer_rows) > _MOST_ROWS_RATIO * len(expected_rows):
        return names
    expected_labels, expected_by_node = _numbered(expected_rows)
    answer_labels, answer_by_node = _numbered(answer_rows)
    while (pairs := _pairs_of_same_colour(expected_by_node, answer_by_node, names)) is not None:
        names |= pairs
    _pair_similar(expected_by_node, answer_by_node, names)
    return {answer_labels[node]: expected_labels[name] for node, name in names.items()}


def _numbered(rows: Sequence[Row]) -> tuple[dict[str, str], dict[str, list[Row]]]:
    """Return the label of each numbered blank node, and the rows of each, with numbers as labels.

    Numbers have leading zeros, so that their order is that of the texts.
    """
    numbers = {node: f"_:{number:09}" for node, number in node_numbers(_by_node(rows)).items()}
    labels = {number: node for node, number in numbers.items()}
    return labels, _by_node([_renamed(row, numbers) for row in rows])


def _pairs_of_same_colour(
    expected: Mapping[str, list[Row]], answer: Mapping[str, list[Row]], names: Mapping[str, str]
) -> dict[str, str] | None:
    """Further pairs of the same colour: all that are unambiguous, else one ambiguous pair."""
    fixed = set(names.values())
    left = _colour_classes(expected, {node: f"={node}" for node in fixed})
    right = _colour_classes(answer, {node: f"={name}" for node, name in names.items()}, left.rounds)
    clear: dict[str, str] = {}
    unclear: dict[str, str] = {}
    for colour in sorted(left.nodes.keys() & right.nodes.keys()):
        nodes, others = left.nodes[colour], right.nodes[colour]
        if nodes[0] in fixed:
            continue
        if len(nodes) == len(others) == 1:
            clear[others[0]] = nodes[0]
        elif not unclear:
            unclear[others[0]] = nodes[0]
    return clear or unclear or None


class _ColourClasses(NamedTuple):
    """Blank nodes by colour, and the number of rounds until the colours were stable."""

    nodes: Mapping[str, list[str]]
    rounds: int


def _colour_classes(
    rows: Mapping[str, list[Row]], fixed: Mapping[str, str], rounds: int | None = None
) -> _ColourClasses:
    colours: dict[str, str] = {node: fixed.get(node, "") for node in rows}
    number, colour_count = 0, len(set(colours.values()))
    while rounds is None or number < rounds:
        colours = {
            node: fixed.get(node)
            or digest(repr(sorted(repr(row_seen_by(row, node, colours)) for row in own)))
            for node, own in rows.items()
        }
        number += 1
        new_count = len(set(colours.values()))
        if rounds is None and new_count == colour_count:
            break
        colour_count = new_count
    nodes: dict[str, list[str]] = defaultdict(list)
    for node in sorted(colours):
        nodes[colours[node]].append(node)
    return _ColourClasses(nodes, number)


def _pair_similar(
    expected: Mapping[str, list[Row]], answer: Mapping[str, list[Row]], names: dict[str, str]
) -> None:
    """Pair the remaining nodes by the number of shared rows, ignoring other blank nodes."""
    partners = {name: name for name in names.values()}
    free: dict[Row, list[str]] = defaultdict(list)
    for node in sorted(answer.keys() - names.keys()):
        for row in {row_seen_by(row, node, names) for row in answer[node]}:
            free[row].append(node)
    for node in sorted(expected.keys() - partners.keys()):
        shared: Counter[str] = Counter()
        for row in {row_seen_by(row, node, partners) for row in expected[node]}:
            shared.update([other for other in free[row] if other not in names][:_CANDIDATES])
        if shared:
            most = max(shared.values())
            names[min(other for other, number in shared.items() if number == most)] = node


def _by_node(rows: Sequence[Row]) -> dict[str, list[Row]]:
    by_node: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for cell in blank_cells(row):
            by_node[cell].append(row)
    return by_node


def _with_blanks(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if blank_cells(row)]


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    """Return a row with blank nodes renamed to their partners.

    Blank nodes without a partner get a name that matches nothing.
    """
    return tuple(
        cell if cell is None or not is_blank(cell) else names.get(cell, f"_:without {cell[2:]}")
        for cell in row
    )


def node_numbers(rows: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Return a different number for each blank node in ``rows``, the rows of each blank node.

    The numbers depend on the rows, but not on the labels. Nodes with the same number so far are
    told apart by the rows that they occur in, until no number separates further nodes. Then one
    node of the first ambiguous number gets a new number, and so on. The nodes of an ambiguous
    number are almost always symmetric, so that it does not matter which one is chosen. The
    exceptions are sets whose blank nodes are linked regularly, such as circles of different
    lengths.

    After a change, only the smaller parts of a separated number are looked at again (Hopcroft
    1971), so that each row is visited a logarithmic number of times.

    >>> row_a, row_b = ("_:a", "<p>", "_:b"), ("_:b", "<p>", '"1"')
    >>> sorted(node_numbers({"_:a": [row_a], "_:b": [row_a, row_b]}).items())
    [('_:a', 1), ('_:b', 0)]
    """
    numbering = _Numbering(rows)
    numbering.separate(rows)
    for nodes in numbering.nodes:  # grows meanwhile
        while len(nodes) > 1:
            node = nodes.pop()
            numbering.add({node})
            numbering.separate({node})
    return numbering.numbers


class _Numbering:
    """Blank nodes by their numbers so far."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self._rows = rows
        self.numbers = dict.fromkeys(rows, 0)
        self.nodes = [set(rows)]

    def add(self, nodes: set[str]) -> None:
        """Give a new number to ``nodes``, which have been removed from their earlier one."""
        self.numbers.update(dict.fromkeys(nodes, len(self.nodes)))
        self.nodes.append(nodes)

    def separate(self, changed: Iterable[str]) -> None:
        """Give new numbers to nodes until those with the same number have the same rows.

        ``changed`` are the nodes whose numbers have changed; at first, all nodes.
        """
        while changed:
            views: dict[str, list[str]] = defaultdict(list)
            for row in {row for node in changed for row in self._rows[node]}:
                for node in blank_cells(row):
                    views[node].append(repr(row_seen_by(row, node, self.numbers)))
            affected: dict[int, list[str]] = defaultdict(list)
            for node in views:
                affected[self.numbers[node]].append(node)
            changed = [
                node
                for number in sorted(affected)
                for node in self._split(self.nodes[number], affected[number], views)
            ]

    def _split(
        self, nodes: set[str], affected: Iterable[str], views: Mapping[str, list[str]]
    ) -> list[str]:
        """Separate ``nodes`` of one number by their ``views``; return those with new numbers.

        The largest part keeps the number.
        """
        by_view: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for node in affected:
            by_view[tuple(sorted(views[node]))].add(node)
        parts = [by_view[view] for view in sorted(by_view)]
        nodes.difference_update(affected)
        largest = max(parts, key=len)
        if len(largest) > len(nodes):
            parts[parts.index(largest)] = set(nodes)
            nodes.clear()
            nodes |= largest
        for part in filter(None, parts):
            self.add(part)
        return [node for part in parts for node in part]


def row_seen_by(row: Row, node: str, colours: Mapping[str, object]) -> Row:
    """Return a row from the view of one of its blank nodes, with colours for the others."""
    return tuple(
        cell
        if cell is None or not is_blank(cell)
        else _SELF
        if cell == node
        else f"_{colours.get(cell, _OTHER)}"
        for cell in row
    )


def blank_cells(row: Row) -> set[str]:
    """Return the blank nodes in a row."""
    return {cell for cell in row if cell is not None and is_blank(cell)}


def is_blank(cell: str) -> bool:
    """Return whether a cell is a blank node."""
    return cell.startswith("_:")
