# SPDX-License-Identifier: Apache-2.0
"""JsonLdContextWorld: write the JSON-LD context with which a JSON document means a given graph.

Documents and graphs are generated from the seed of the plan (:mod:`kgbench.worlds.documents`). The
graphs have no blank nodes, so they are compared as sets of triples.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.scoring import json_ld
from kgbench.scoring.agreement import agreement
from kgbench.scoring.json_ld import IllFormedJsonLd
from kgbench.tasks import catalogue, json_ld_answers, serialising, texts, turtle_answers
from kgbench.vocab import RDFS, XSD
from kgbench.worlds import documents, generator
from kgbench.worlds.generator import world_of
from kgbench.worlds.model import NAMESPACE

NAME: Final = "JsonLdContextWorld"
LOADS: Final = ("PyLD",)
PREFIXES: Final = {
    "w": NAMESPACE,
    "r": generator.RESOURCE,
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}
CONTEXT: Final = "@context"
_SHOWN: Final = 5  # triples of each kind that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different documents about the seed's world.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    # Built for the first case of the task, so that other tasks need not wait for it.
    sheet = cache(lambda: documents.sheet(world_of(task, seed), task.parameters["level"]))

    def data(iteration: int) -> Mapping[str, Json]:
        document = sheet()[iteration]
        triples = turtle_answers.triples(document.triples)
        return {
            "document": document.text,
            "graph": serialising.serialise(triples, "turtle", PREFIXES),
            "triples": list(document.triples),
            "context": document.context,
            "features": list(document.features),
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the document and the graph."""
    shown = {name: case.data[name] for name in ("document", "graph")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - PyLD
    """Compare the document, read with the context in the last answer, with the graph."""
    answer = answers[-1]
    read = json_ld_answers.read(answer)
    expected = json_ld.ntriples_rows(case.data["triples"])
    error, given = read.error, frozenset[str]()
    if read.document is not None:
        try:
            given = _document_triples(case, read.document[CONTEXT])
        except KeyError:
            error = 'the JSON object has no "@context"'
        except IllFormedJsonLd as refused:
            error = str(refused)
    agreed = agreement(len(expected & given), len(given), len(expected), precision_of_nothing=0.0)
    missing, surplus = sorted(expected - given), sorted(given - expected)
    scores = {
        "answerParse": float(error is None),
        **agreed.named(),
        "exact": float(not missing and not surplus),
    }
    infos: dict[str, Json] = {
        "parseError": error,
        "missing": missing[:_LISTED],
        "surplus": [row[:_LONGEST] for row in surplus[:_LISTED]],
    }
    outcome = turtle_answers.outcome(answer, usable=error is None)
    if scores["exact"] or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    if error is None:
        return Verdict(scores, infos, outcome, _differences(missing, surplus), "content")
    feedback = json_ld_answers.feedback(read, error)
    if read.document is not None and CONTEXT not in read.document:
        feedback = texts.text(NAME, "feedback-no-context.txt"), "format"
    return Verdict(scores, infos, outcome, *feedback)


def reference(case: Case) -> str:
    """Return the reference answer: the context."""
    return f"```json\n{case.data['context']}\n```"


def _document_triples(case: Case, context: Json) -> frozenset[str]:
    return json_ld.rows({CONTEXT: context, **json.loads(case.data["document"])})


def _differences(missing: Sequence[str], surplus: Sequence[str]) -> str:
    """Return the feedback on a context with which the document means another graph."""
    lines = [
        f"* {kind}: {row[:_LONGEST]}"
        for kind, rows in (("missing", missing), ("should not be there", surplus))
        for row in rows[:_SHOWN]
    ]
    if len(lines) < len(missing) + len(surplus):
        lines.append("* and more")
    counts = {"missing": str(len(missing)), "surplus": str(len(surplus))}
    return texts.filled(NAME, "feedback-differences.txt", examples="\n".join(lines), **counts)
