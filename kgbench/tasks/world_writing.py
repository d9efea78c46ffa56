# SPDX-License-Identifier: Apache-2.0
"""Judge of SPARQL texts that write: by the triples that they add to or remove from a world.

The changes of an answer are compared with those of the reference query, triple by triple, as terms
and up to the names of blank nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Task, Verdict
from kgbench.policies.blank_nodes import compare_rows, row_texts
from kgbench.policies.node_numbers import Row
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue, graphs, texts, world_questions
from kgbench.tasks.world_questions import graph_name
from kgbench.worlds.generator import World, world_of
from kgbench.worlds.writing import PREFIXES, TARGET, WritingSheet

ROUNDS: Final = 3
FOLDER: Final = "world-writing"
_SHOWN: Final = 10  # triples of each kind that the infos of a verdict list
_LONGEST: Final = 500  # characters of a message
NO_TEXT: Final = "there is no such text of SPARQL in a fenced block of the answer"
SheetOf = Callable[[World, int], WritingSheet]


class WritingResult(NamedTuple):
    """The verdict on an answer without feedback, and the data for the feedback.

    ``text`` is the SPARQL of the answer, ``error`` the engine's error if it was not executed;
    ``surplus`` are the wrong rows (:meth:`kgbench.model.Executor.changes`).
    """

    verdict: Verdict
    text: str | None
    syntax_error: str | None
    error: str | None = None
    writes: bool = False
    surplus: frozenset[Row] = frozenset()


def cases(task: Task, suite: str, seed: int, count: int, sheet_of: SheetOf) -> Sequence[Case]:
    """Make ``count`` cases: different exercises about the seed's world, by level.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    world = world_of(task, seed)
    # Built for the first case of the task, so that other tasks need not wait for it.
    sheet = cache(lambda: sheet_of(world, task.parameters["level"]))

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = sheet()[iteration]
        return {
            "graphName": world.name,
            "question": exercise.words,
            "refSparql": exercise.query,
            "features": list(exercise.features),
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the exercise with the schema of its world.

    See :func:`world_questions.prompt`.
    """
    return world_questions.prompt(case, t=TARGET)


def extract_sparql(answer: str, word: re.Pattern[str]) -> str | None:
    """Return the text of the first fenced block that contains ``word``, trimmed."""
    blocks = (block.body.strip() for block in fenced_blocks(answer))
    return next((body for body in blocks if word.search(body)), None)


def judge_writing(
    case: Case, answer: str, executor: Executor, word: re.Pattern[str], *, update: bool
) -> WritingResult:
    """Compare the changes of the text in an answer with those of the reference of ``case``.

    ``word`` matches in each text of the requested kind; ``update`` is true if that is an update.
    Raises :class:`~kgbench.errors.EvaluationError` if the reference cannot be executed.
    """
    text = extract_sparql(answer, word)
    error = NO_TEXT if text is None else executor.check(text, PREFIXES, update=update)
    infos: dict[str, Json] = {"testUid": case.uid, "sparql": text}
    if text is None or error is not None:
        outcome = Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY
        scores = dict.fromkeys(("answerParse", "precision", "recall", "f1", "exact"), 0.0)
        return WritingResult(Verdict(scores, {**infos, "parseError": error}, outcome), text, error)
    world = graphs.text(graph_name(case))
    expected = executor.changes(case.data["refSparql"], world, PREFIXES)
    if expected.error is not None:
        raise EvaluationError(
            f"the reference of the case {case.iri} cannot be executed: {expected.error}"
        )
    result = executor.changes(text, world, PREFIXES)
    compared = compare_rows(expected.rows, result.rows)
    exact = float(not compared.missing and not compared.surplus)
    scores = {"answerParse": 1.0, **compared.agreement.named(), "exact": exact}
    infos |= _infos(result, len(expected.rows), compared.missing, compared.surplus)
    outcome = Outcome.TIMEOUT if result.expired else Outcome.SCORED
    verdict = Verdict(scores, infos, outcome)
    return WritingResult(verdict, text, None, result.error, bool(result.rows), compared.surplus)


vocabulary: Final = world_questions.Vocabulary(PREFIXES)


def writing_feedback(comparison: WritingResult) -> tuple[str, str] | None:
    """Return the feedback and its kind, or ``None`` if the text writes something.

    The feedback concerns a text that does not parse, cannot be executed or writes nothing.
    """
    if comparison.text is None:
        return texts.shared(FOLDER, "feedback-no-text.txt"), "syntax"
    if comparison.syntax_error is not None:
        return _filled("syntax", comparison.syntax_error, comparison.text), "syntax"
    if comparison.error is not None:
        return _filled("error", comparison.error, comparison.text), "content"
    if not comparison.writes:
        return texts.shared(FOLDER, "feedback-nothing.txt"), "empty-result"
    return None


def reference(case: Case) -> str:
    """Return the reference answer: the reference text in a fenced block."""
    return f"```sparql\n{case.data['refSparql']}\n```"


prepare = graphs.prepare


def _filled(name: str, message: str, text: str) -> str:
    shortened = message[:_LONGEST]
    return texts.shared_filled(FOLDER, f"feedback-{name}.txt", message=shortened, text=text)


def _infos(
    result: QueryResult, expected: int, missing: frozenset[Row], surplus: frozenset[Row]
) -> dict[str, Json]:
    infos: dict[str, Json] = {
        "written": len(result.rows),
        "expected": expected,
        "missing": _listed(missing),
        "surplus": _listed(surplus),
    }
    if result.error is not None:
        infos["executionError"] = result.error[:_LONGEST]
    if result.refused:
        infos["refused"] = True
    return infos


def _listed(rows: Iterable[Row]) -> list[str]:
    return [line[:_LONGEST] for line in row_texts(rows)[:_SHOWN]]
