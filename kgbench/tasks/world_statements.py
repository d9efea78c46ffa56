# SPDX-License-Identifier: Apache-2.0
"""Rdf12World: statements about statements of a generated world, and strings with a direction.

A case requires a graph in Turtle 1.2, which is compared up to the names of blank nodes, or a
SPARQL 1.2 query, which is executed on a graph of reports. Everything is generated from the seed of
the plan (:mod:`kgbench.worlds.statements`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, cast

import pyoxigraph as ox

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor, Json, Outcome, Task, TaskModule, Verdict
from kgbench.policies.blank_nodes import RowComparison, compare_rows, row_texts
from kgbench.policies.node_numbers import Row
from kgbench.policies.policy import policy
from kgbench.rdf.triple_terms import OPENS, cells
from kgbench.tasks import (
    catalogue,
    sparql_dialogue,
    texts,
    turtle_answers,
    typed_answers,
    world_questions,
)
from kgbench.tasks.world_questions import POLICY, Vocabulary
from kgbench.vocab import RDF
from kgbench.worlds import notations, report_questions, statements
from kgbench.worlds.generator import World, check_instances, world_of

NAME: Final = "Rdf12World"
QUERY: Final = "query"
_PROBE: Final = "<urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> ."
_TRAPS: Final = ("asserted", "unasserted", "misdirected", "outdated")
_DIRECTION: Final = re.compile(r"(?<=[A-Za-z0-9])--(?:ltr|rtl)\Z")
_OUTDATED: Final = {f"<{RDF[name]}>" for name in ("subject", "predicate", "object", "Statement")}
_I18N: Final = f"^^<{notations.I18N}"
_SHOWN: Final = 10  # triples of each kind that the infos of a verdict list
_LONGEST: Final = 500  # characters of such a triple


class _Queries(NamedTuple):
    """The module for judging queries by results on graphs in the data of cases."""

    vocabulary: Vocabulary

    def query(self, answer: str) -> str | None:
        """Return the query in an answer."""
        return sparql_dialogue.extract_any_query(answer)

    def graph_name(self, case: Case) -> None:
        """Return ``None``, because no case uses an installed graph."""


_QUERIES: Final = cast("TaskModule", _Queries(Vocabulary(statements.PREFIXES)))


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Return ``count`` cases of a skill and a level, about statements of the seed's world."""
    level, data_of = task.parameters["level"], _DATA[task.parameters["skill"]]
    world = world_of(task, seed)
    return catalogue.lazy_cases(task, suite, count, lambda k: data_of(world, level, k))


def _annotate(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = statements.graph_and_chance(world, "annotate", level, number)
    reports = statements.draw_reports(graph, statements.RECIPES[level], chance)
    gold = statements.lines(reports)
    return {
        "asked": "\n".join(statements.describe_reports(reports)),
        "names": statements.abbreviate("\n".join(statements.names(graph, gold, chance))),
        "gold": list(gold),
    }


def _direction(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = statements.graph_and_chance(world, "direction", level, number)
    mottos = notations.mottos(graph, level, chance)
    gold = [motto.line for motto in mottos]
    return {
        "asked": notations.write_mottos(mottos, level),
        "names": statements.abbreviate("\n".join(statements.names(graph, gold, chance))),
        "gold": list(gold),
    }


def _repair(world: World, level: int, number: int) -> dict[str, Json]:
    graph, chance = statements.graph_and_chance(world, "repair", level, number)
    reports = statements.draw_reports(graph, notations.RECIPES[level], chance)
    return {
        "asked": statements.abbreviate(notations.old_document(reports, level, chance)),
        "gold": list(statements.lines(reports)),
    }


def _query(world: World, level: int, number: int) -> dict[str, Json]:
    question = report_questions.draw_question(world, level, number)
    return {
        "question": question.words,
        "names": statements.abbreviate("\n".join(question.properties)),
        "graph": statements.abbreviate("\n".join(question.graph)),
        "refSparql": question.query,
    }


_DATA: Final[dict[str, Callable[[World, int, int], dict[str, Json]]]] = {
    "annotate": _annotate,
    "direction": _direction,
    "repair": _repair,
    QUERY: _query,
}


def prompt(case: Case) -> str:
    """Return the prompt: the exercise, with the names and data that it needs."""
    shown = {key: case.data[key] for key in ("asked", "names", "question") if key in case.data}
    return texts.filled(NAME, f"prompt-{case.parameters['skill']}.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the graph or the result of the last answer; ask again if there is none.

    Raises :class:`~kgbench.errors.EvaluationError` if the engine does not support RDF 1.2.
    """
    if executor.parse(_PROBE, "turtle").triples is None:
        raise EvaluationError(
            f"the engine reads no RDF 1.2, so it cannot judge the case {case.iri}: judge with the "
            "engine oxigraph"
        )
    if case.parameters["skill"] == QUERY:
        return _judged_query(case, answers, executor)
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    usable = bool(read.triples)
    scores = {"answerParse": float(read.triples is not None)}
    infos: dict[str, Json] = {"parseError": read.error}
    if usable:
        answer_rows = [row(triple) for triple in read.triples or ()]
        gold = [row(triple) for triple in turtle_answers.triples(tuple(case.data["gold"]))]
        compared = compare_rows(gold, answer_rows)
        exact = float(not compared.missing and not compared.surplus)
        scores |= {
            **compared.agreement.named(),
            "exact": exact,
            **_traps(gold, answer_rows, compared),
        }
        infos |= {"missing": _listed(compared.missing), "surplus": _listed(compared.surplus)}
    else:
        scores |= dict.fromkeys(("precision", "recall", "f1", "exact", *_TRAPS), 0.0)
    verdict = Verdict(scores, infos, turtle_answers.outcome(answer, usable=usable))
    if usable or len(answers) >= turtle_answers.ROUNDS:
        return verdict
    feedback = (texts.text(NAME, "feedback-no-triples.txt"), "format")
    if read.triples is None:
        feedback = read.feedback
    return replace(verdict, next_prompt=feedback[0], feedback=feedback[1])


def _judged_query(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the result of the last answer's query with that of the reference query."""
    verdict = typed_answers.parsed_and_judged(policy(POLICY), case, answers, executor, _QUERIES)
    if len(answers) >= sparql_dialogue.ROUNDS:
        return verdict
    if verdict.outcome in {Outcome.UNPARSABLE, Outcome.EMPTY}:
        query = verdict.infos["sparql"]
        error = None if query is None else verdict.infos["parseError"]
        feedback = sparql_dialogue.syntax_feedback(query, error)
    elif not verdict.infos["resultLength"]:
        feedback = sparql_dialogue.empty_feedback()
    else:
        return verdict
    return replace(verdict, next_prompt=feedback[0], feedback=feedback[1])


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
    counts = {
        "asserted": len((reported - expected) & compared.surplus),
        "unasserted": len((reported & expected) & compared.missing),
        "misdirected": sum(_undirected(item) in undirected for item in compared.missing),
        "outdated": sum(_is_outdated(item) for item in set(answer_rows)),
    }
    return {name: float(count) for name, count in counts.items()}


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


def reference(case: Case) -> str:
    """Return the reference answer: the expected graph or the reference query in a fenced block."""
    if case.parameters["skill"] == QUERY:
        return sparql_dialogue.reference(case)
    return f"```turtle\n{statements.abbreviate(chr(10).join(case.data['gold']))}\n```"


check = check_instances


prepare = world_questions.prepare


def _listed(rows: Iterable[Row]) -> list[str]:
    return [line[:_LONGEST] for line in row_texts(rows)[:_SHOWN]]
