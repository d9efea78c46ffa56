# SPDX-License-Identifier: Apache-2.0
"""Agreement of sets and graphs (precision, recall, F1), and of decisions about things.

Mutation scores: DeMillo, Lipton and Sayward, Hints on Test Data Selection, Computer 1978; balanced
accuracy: Brodersen et al., The Balanced Accuracy and Its Posterior Distribution, ICPR 2010;
informedness: Youden, Index for Rating Diagnostic Tests, Cancer 1950.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from math import fsum
from typing import NamedTuple


class Agreement(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float

    def named(self, prefix: str = "", f1: str = "f1") -> dict[str, float]:
        """Return the three values under score names built from ``prefix`` and ``f1``.

        >>> Agreement(1.0, 0.5, 0.6).named("list", f1="F1")
        {'listPrecision': 1.0, 'listRecall': 0.5, 'listF1': 0.6}
        """
        precision, recall = "precision", "recall"
        if prefix:
            precision, recall, f1 = f"{prefix}Precision", f"{prefix}Recall", f"{prefix}{f1}"
        return {precision: self.precision, recall: self.recall, f1: self.f1}


def agreement_of_error(error: float) -> float:
    """Turn an error, best at 0, into agreement from 0 to 1: 1 minus its absolute value, at least 0.

    Metrics that declare ``kgb:agreementOf`` are computed so.

    >>> [agreement_of_error(error) for error in (0.0, -0.25, 9.0)]
    [1.0, 0.75, 0.0]
    """
    return max(0.0, 1 - abs(error))


def harmonic(precision: float, recall: float) -> float:
    """F1: the harmonic mean of precision and recall, 0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def agreement(
    hits: int, answer_count: int, expected_count: int, *, precision_of_nothing: float
) -> Agreement:
    """Agreement of the items of an answer, ``hits`` of which are expected.

    ``precision_of_nothing`` is the precision if nothing is given; the published scores differ
    in it (1 for sets and lists, 0 for persons named in a text). Recall of nothing expected is 1.
    """
    precision = hits / answer_count if answer_count else precision_of_nothing
    recall = hits / expected_count if expected_count else 1.0
    return Agreement(precision, recall, harmonic(precision, recall))


def compare_sets(expected: AbstractSet[str], answer: AbstractSet[str]) -> Agreement:
    """Agreement of two sets; an empty ``answer`` has precision 1 (and recall 0)."""
    return agreement(len(expected & answer), len(answer), len(expected), precision_of_nothing=1.0)


class Discrimination(NamedTuple):
    """How well shapes discriminate correct graphs and mutants; all values are from 0 to 1.

    ``accepted`` is the share of correct graphs that conform, ``by_component`` the share of mutants
    that do not conform, by the component that they violate, and ``refused`` the mean of these.
    """

    accepted: float
    by_component: dict[str, float]

    @property
    def refused(self) -> float:
        """The mean share of refused mutants; all components have the same weight."""
        return fsum(self.by_component.values()) / len(self.by_component)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the accepted and the refused share; 0.5 without any discrimination."""
        return (self.accepted + self.refused) / 2

    @property
    def informedness(self) -> float:
        """Balanced accuracy above chance, rescaled to 0 to 1."""
        return max(0.0, self.accepted + self.refused - 1)

    @property
    def accuracies(self) -> dict[str, float]:
        """The balanced accuracy of each component."""
        return {name: (self.accepted + share) / 2 for name, share in self.by_component.items()}


def discrimination(right: Sequence[bool], mutants: Sequence[tuple[str, bool]]) -> Discrimination:
    """Compute the shares from the conformance of correct graphs, and of mutants with a component.

    >>> found = discrimination([True, True], [("MinCount", False), ("Class", True)])
    >>> found.accepted, found.refused, found.balanced_accuracy, found.informedness
    (1.0, 0.5, 0.75, 0.5)
    """
    totals = Counter(component for component, _ in mutants)
    refused = Counter(component for component, conforms in mutants if not conforms)
    shares = {
        component: refused[component] / number for component, number in sorted(totals.items())
    }
    return Discrimination(sum(right) / len(right), shares)


class Terms(NamedTuple):
    """Subject, predicate and object of a triple, each in N-Triples syntax."""

    subject: str
    predicate: str
    object: str


def terms(line: str) -> Terms:
    """Split an N-Triples line without line break into its terms.

    >>> terms('<http://e.org/a> <http://e.org/b> "c d" .')
    Terms(subject='<http://e.org/a>', predicate='<http://e.org/b>', object='"c d"')
    """
    subject, predicate, object_ = line.split(" ", 2)
    return Terms(subject, predicate, object_.removesuffix(" ."))


# IRIs and quoted strings are matched as a whole, so that text in them is not taken for blank nodes.
_TERM = re.compile(r'<[^<>"]*>|"(?:[^"\\]|\\.)*"|(?P<blank>_:[^\s<>"]+)')


def with_uniform_blank_nodes(line: str) -> str:
    """Replace every blank node in an N-Triples line by ``_:b``.

    >>> with_uniform_blank_nodes('_:b7 <http://e.org/p> "_:b7" .')
    '_:b <http://e.org/p> "_:b7" .'
    """
    if "_:" not in line:
        return line
    return _TERM.sub(lambda match: "_:b" if match["blank"] else match[0], line)


def line_set(triples: Iterable[str]) -> frozenset[str]:
    """Return the lines with uniform blank nodes and one empty line, by which graphs are compared.

    The empty line comes from the published scores, which split a serialised graph at line breaks:
    even an empty graph shares it with every other.
    """
    return frozenset({"", *map(with_uniform_blank_nodes, triples)})


def compare_graphs(expected: Iterable[str], answer: Iterable[str]) -> Agreement:
    """Agreement of two graphs, each as N-Triples lines without line breaks (see :func:`line_set`).

    Two graphs that differ only in which blank node has which value count as equal.
    """
    return compare_sets(line_set(expected), line_set(answer))
