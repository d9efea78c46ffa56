# SPDX-License-Identifier: Apache-2.0
"""Rdf12World: statements about statements of a generated world, and strings with a direction.

A case requires a graph in Turtle 1.2, which is compared up to the names of blank nodes, or a
SPARQL 1.2 query, which is executed on a graph of reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, cast

import pyoxigraph as ox

from kgbench.api import (
    RDF,
    Case,
    DrawnFamily,
    EvaluationError,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
    Verdict,
    World,
    world_of,
)
from kgbench.families import frame, queries
from kgbench.families.comparing import listed
from kgbench.families.sparql import Vocabulary, judge_query, prepare
from kgbench.model import TaskModule
from kgbench.policies.blank_nodes import Row, RowComparison, compare_rows
from kgbench.rdf.quads import OPENS, cells
from kgbench.worlds.generator import check_instances

from . import notations, reports
from .questions import draw_question

QUERY: Final = "query"
_PROBE: Final = "<urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> ."
_TRAPS: Final = ("asserted", "unasserted", "misdirected", "outdated")
_DIRECTION: Final = re.compile(r"(?<=[A-Za-z0-9])--(?:ltr|rtl)\Z")
_OUTDATED: Final = {f"<{RDF[name]}>" for name in ("subject", "predicate", "object", "Statement")}
_I18N: Final = f"^^<{notations.I18N}"


class _Queries(NamedTuple):
    """The module for judging queries by results on graphs in the data of cases."""

    vocabulary: Vocabulary

    def query(self, answer: str) -> str | None:
        """Return the query in an answer."""
        return queries.extract_any_query(answer)

    def graph_name(self, case: Case) -> None:
        """Return ``None``, because no case uses an installed graph."""


_QUERIES: Final = cast("TaskModule", _Queries(Vocabulary(reports.PREFIXES)))


class Rdf12World(DrawnFamily, TurtleFamily):
    """Statements of the seed's world, with a skill and a level."""

    check = staticmethod(check_instances)
    prepare = staticmethod(prepare)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw an exercise of a skill and a level."""
        draw = _DRAW[task.parameters["skill"]]
        return draw(world_of(task, seed), task.parameters["level"], number)

    def prompt(self, case: Case) -> str:
        """Return the prompt: the exercise, with the names and data that it needs."""
        shown = {key: case.data[key] for key in ("asked", "names", "question") if key in case.data}
        return self.text(f"prompt-{case.parameters['skill']}", **shown)

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the graph or the result of the last answer; ask again if there is none.

        Raises :class:`~kgbench.errors.EvaluationError` if the engine does not support RDF 1.2.
        """
        if executor.parse(_PROBE, "turtle").triples is None:
            raise EvaluationError(
                f"the engine reads no RDF 1.2, so it cannot judge the case {case.iri}: judge with "
                "the engine oxigraph"
            )
        if case.parameters["skill"] == QUERY:
            return judge_query(case, answers, executor, _QUERIES)
        return super().judge(case, answers, executor)

    def score(self, case: Case, answer: tuple[ox.Triple, ...] | None, executor: Executor) -> Score:
        """Compare the graph of an answer with the right one, and count typical mistakes."""
        if not answer:
            zeros = dict.fromkeys(("precision", "recall", "f1", "exact", *_TRAPS), 0.0)
            return Score(zeros, {}, usable=False, feedback=self._no_triples)
        rows = [row(triple) for triple in answer]
        gold = [row(triple) for triple in frame.triples(tuple(case.data["gold"]))]
        compared = compare_rows(gold, rows)
        scores = {
            **compared.agreement.named(),
            "exact": float(not compared.missing and not compared.surplus),
            **_traps(gold, rows, compared),
        }
        infos = {"missing": listed(compared.missing), "surplus": listed(compared.surplus)}
        return Score(scores, infos)

    def reference(self, case: Case) -> str:
        """Return the expected graph or the reference query in a fenced block."""
        if case.parameters["skill"] == QUERY:
            return queries.fenced_query(case)
        return f"```turtle\n{reports.abbreviate(case.data['gold'])}\n```"

    def _no_triples(self) -> Feedback:
        return self.feedback("no-triples", "format")


family: Final = Rdf12World(__file__)


def _annotate(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = reports.graph_and_chance(world, "annotate", level, number)
    drawn = reports.draw_reports(graph, reports.RECIPES[level], chance)
    gold = reports.lines(drawn)
    return {
        "asked": "\n".join(reports.describe_reports(drawn)),
        "names": reports.abbreviate(reports.names(graph, gold, chance)),
        "gold": gold,
    }


def _direction(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = reports.graph_and_chance(world, "direction", level, number)
    mottos = notations.mottos(graph, level, chance)
    gold = [motto.line for motto in mottos]
    return {
        "asked": notations.write_mottos(mottos, level),
        "names": reports.abbreviate(reports.names(graph, gold, chance)),
        "gold": gold,
    }


def _repair(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = reports.graph_and_chance(world, "repair", level, number)
    drawn = reports.draw_reports(graph, notations.RECIPES[level], chance)
    return {
        "asked": reports.abbreviate(notations.old_document(drawn, level, chance)),
        "gold": reports.lines(drawn),
    }


def _query(world: World, level: int, number: int) -> dict[str, Json]:
    question = draw_question(world, level, number)
    return {
        "question": question.words,
        "names": reports.abbreviate(question.properties),
        "graph": reports.abbreviate(question.graph),
        "refSparql": question.query,
    }


_DRAW: Final[dict[str, Callable[[World, int, int], dict[str, Json]]]] = {
    "annotate": _annotate,
    "direction": _direction,
    "repair": _repair,
    QUERY: _query,
}


def row(triple: ox.Triple) -> Row:
    """Return a triple as a row of terms, with a separate cell for each part of a triple term."""
    return tuple(cells(*triple))


def _traps(
    gold: Iterable[Row], answer_rows: Iterable[Row], compared: RowComparison
) -> dict[str, float]:
    """Return counts of typical mistakes from RDF-star and RDF 1.1."""
    expected = set(gold)
    reported = {item[3:-1] for item in expected if len(item) > 3 and item[2] == OPENS}  # noqa: PLR2004 - after subject and predicate
    undirected = {_undirected(item) for item in compared.surplus}
    counts = (
        len((reported - expected) & compared.surplus),
        len((reported & expected) & compared.missing),
        sum(_undirected(item) in undirected for item in compared.missing),
        sum(_is_outdated(item) for item in set(answer_rows)),
    )
    return {name: float(count) for name, count in zip(_TRAPS, counts, strict=True)}


def _undirected(row: Row) -> Row:
    return tuple(
        _DIRECTION.sub("", cell) if cell is not None and cell.startswith('"') else cell
        for cell in row
    )


def _is_outdated(row: Row) -> bool:
    return any(
        cell in _OUTDATED or (cell is not None and cell.rpartition('"')[2].startswith(_I18N))
        for cell in row
    )
