# SPDX-License-Identifier: Apache-2.0
"""The frame of families whose answers are mappings: execution, comparison and feedback."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.families.comparing import LISTED, LONGEST, SHOWN
from kgbench.families.frame import Feedback, Score, TurtleFamily
from kgbench.mapping.execution import execute_mapping
from kgbench.mapping.limits import MappingError
from kgbench.mapping.sources import Data, Table
from kgbench.model import Case, Executor
from kgbench.policies.blank_nodes import Row, RowComparison, row_texts
from kgbench.tasks import texts

_FOLDER: Final = "mapping-answers"
_PROBE: Final = """
[] <http://www.w3.org/ns/r2rml#logicalTable> [ <http://www.w3.org/ns/r2rml#tableName> "t" ] ;
    <http://www.w3.org/ns/r2rml#subjectMap> [ <http://www.w3.org/ns/r2rml#template> "urn:{a}" ] .
"""
Produced = Mapping[str, frozenset[Row]]
"""The graph that a mapping makes of each of several data, by their names."""


class MappingFamily(TurtleFamily):
    """A family whose answers are mappings, judged by the graphs that they make of data."""

    @abstractmethod
    def data(self, case: Case) -> Mapping[str, Data]:
        """Return the data of a case on which mappings are executed, by name."""

    @abstractmethod
    def compare(
        self, case: Case, produced: Produced
    ) -> tuple[Mapping[str, float], Sequence[RowComparison]]:
        """Return the scores of the graphs of a mapping, without ``exact``, and their comparisons.

        Infos and feedback have the differences of the first one. Without an executable mapping
        all graphs are empty.
        """

    def differences(self, compared: Sequence[RowComparison]) -> str:
        """Return the feedback on a mapping that makes a wrong graph, with some wrong triples."""
        _, missing, surplus = compared[0]
        lines = [
            f"* {kind}: {line}"
            for kind, rows in (("missing", missing), ("should not be there", surplus))
            for line in _lines(rows)[:SHOWN]
        ]
        if len(lines) < len(missing) + len(surplus):
            lines.append("* and more")
        return texts.shared_filled(
            _FOLDER, "feedback-differences.txt", examples="\n".join(lines), **counts(compared[0])
        )

    def score(self, case: Case, answer: tuple[ox.Triple, ...] | None, executor: Executor) -> Score:
        """Execute a mapping on all data; there is feedback if it fails or makes a wrong graph."""
        data, error = self.data(case), None
        produced: Produced = {name: frozenset() for name in data}
        if answer is not None:
            try:
                produced = {name: execute_mapping(answer, one) for name, one in data.items()}
            except MappingError as failure:
                error = str(failure)
        scores, compared = self.compare(case, produced)
        exact = not any(one.missing or one.surplus for one in compared)

        def feedback() -> Feedback:
            if error is None:
                return Feedback(self.differences(compared), "content")
            return Feedback(
                texts.shared_filled(_FOLDER, "feedback-error.txt", message=error), "syntax"
            )

        infos = {
            "engineError": error,
            "missing": _lines(compared[0].missing)[:LISTED],
            "surplus": _lines(compared[0].surplus)[:LISTED],
        }
        all_scores = {"executes": float(error is None), **scores, "exact": float(exact)}
        return Score(all_scores, infos, usable=error is None, feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the complete mapping."""
        return f"```turtle\n{case.data['mapping']}\n```"

    def prepare(self) -> None:
        """Let SQLite load its parts, because judging processes cannot open files."""
        mapping = [quad.triple for quad in ox.parse(_PROBE, ox.RdfFormat.TURTLE)]
        execute_mapping(mapping, Data({}, {"t": Table((("a", "TEXT"),), (("b",),))}))


def counts(compared: RowComparison) -> dict[str, str]:
    """Return the numbers of missing and surplus triples, for feedback."""
    return {"missing": str(len(compared.missing)), "surplus": str(len(compared.surplus))}


def _lines(rows: Iterable[Row]) -> list[str]:
    return [line[:LONGEST] for line in row_texts(rows)]


def file_block(name: str, form: str, text: str) -> str:
    """Return a file in the form that prompts show."""
    return f"{name}:\n```{form}\n{text.removesuffix(chr(10))}\n```"
