# SPDX-License-Identifier: Apache-2.0
"""What families share in comparing sets of lines, and in quoting them in feedback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kgbench.model import Json
from kgbench.policies.blank_nodes import Row, row_texts
from kgbench.scoring.agreement import Agreement, agreement

LISTED: Final = 50  # lines of each kind that infos list; all are scored
SHOWN: Final = 5  # lines of each kind that feedback quotes
LISTED_ROWS: Final = 10  # rows with blank nodes of each kind that infos list
LONGEST: Final = 500  # characters of a line that is listed or quoted


class Comparison(NamedTuple):
    """The agreement of an answer with what is expected, with the lines that only one of them has.

    ``exact`` is 1 if there are none.
    """

    agreement: Agreement
    exact: float
    missed: Sequence[str]
    invented: Sequence[str]

    def infos(
        self, missed: str = "missed", invented: str = "invented", listed: int = LISTED
    ) -> dict[str, Json]:
        """Return at most ``listed`` lines of each kind under the given names."""
        return {missed: _cut(self.missed[:listed]), invented: _cut(self.invented[:listed])}


def compare(
    expected: AbstractSet[str], given: AbstractSet[str], *, precision_of_nothing: float = 0.0
) -> Comparison:
    """Compare the lines of an answer with the expected ones; both are sorted in the result.

    >>> compare({"a", "b"}, {"b", "c", "d"}).infos()
    {'missed': ['a'], 'invented': ['c', 'd']}
    """
    agreed = agreement(
        len(expected & given),
        len(given),
        len(expected),
        precision_of_nothing=precision_of_nothing,
    )
    missed, invented = sorted(expected - given), sorted(given - expected)
    return Comparison(agreed, float(expected == given), missed, invented)


def quoted(*groups: Sequence[str]) -> str:
    """Return lines as a list in Markdown, a few of each group.

    >>> print(quoted(["a", "b"]))
    * a
    * b
    """
    lines = [f"* {line}" for group in groups for line in _cut(group[:SHOWN])]
    more = any(len(group) > SHOWN for group in groups)
    return "\n".join([*lines, *(["* and more"] if more else [])])


def readable(term: str, prefixes: Mapping[str, str]) -> str:
    """Return a term of N-Triples with the first of ``prefixes``, by namespace, that it begins with.

    >>> readable("<urn:a:b>", {"urn:a:": "a:"})
    'a:b'
    """
    for iri, prefix in prefixes.items():
        if term.startswith(f"<{iri}"):
            return prefix + term[len(iri) + 1 : -1]
    return term


def listed(rows: Iterable[Row]) -> list[str]:
    """Return rows of terms as lines without labels of blank nodes, at most :data:`LISTED_ROWS`."""
    return _cut(row_texts(rows)[:LISTED_ROWS])


def _cut(lines: Iterable[str]) -> list[str]:
    return [line[:LONGEST] for line in lines]
