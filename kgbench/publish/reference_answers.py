# SPDX-License-Identifier: Apache-2.0
"""The reference answers in the data of cases, which publications find in other texts."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox

from kgbench.publish.redaction import gold_texts, parse_json
from kgbench.rdf.quads import Quads
from kgbench.vocab import KGB

_MOST_KEPT = 2_000  # cases in memory
_CASE, _CASE_DATA = ox.NamedNode(KGB.case), ox.NamedNode(KGB.caseData)


class ReferenceAnswers:
    """The reference answers in a database, with a cache."""

    def __init__(self, database: Quads) -> None:
        self._database = database
        self._of_case: dict[str, frozenset[str]] = {}
        self._all: frozenset[str] | None = None

    def of_case(self, evaluation: Any) -> frozenset[str]:
        """Return the reference answers of the case of an evaluation; without one, of all cases."""
        for quad in self._database.quads_for_pattern(evaluation, _CASE, None):
            case: Any = quad.object
            answers = self._of_case.get(case.value)
            if answers is None:
                if len(self._of_case) >= _MOST_KEPT:
                    self._of_case.clear()
                answers = self._of_case[case.value] = self._in_data_of(case)
            return answers
        return self.all()

    def all(self) -> frozenset[str]:
        """Return the reference answers of all cases."""
        if self._all is None:
            self._all = self._in_data_of(None)
        return self._all

    def _in_data_of(self, case: Any) -> frozenset[str]:
        quads = self._database.quads_for_pattern(case, _CASE_DATA, None)
        return frozenset().union(*(gold_texts(parse_json(quad.object.value)) for quad in quads))
