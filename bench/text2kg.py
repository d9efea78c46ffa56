# SPDX-License-Identifier: Apache-2.0
"""Scoring of the facts extracted from sentences, on one core.

Scores the stored responses of Text2KGBench in the folder named by KGBENCH_EXTERNAL_DATA, or, if it
is not set, the sentences that ship with kgbench, repeatedly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from bench.harness import Result, measure
from kgbench.datasets import text2kgbench
from kgbench.families.text2kg import content_of, part_cases
from kgbench.importers.text2kgbench_catalogue import SUITE, part_task
from kgbench.importers.text2kgbench_responses import response_sets
from kgbench.model import Case, Executor
from kgbench.scoring import stems
from kgbench.scoring.fact_extraction import published_scores
from kgbench.scoring.facts import parse
from kgbench.tasks import catalogue

GOAL = "at least 2,000/s"
_SAMPLES = 4_000
text2kg = catalogue.module("Text2KG")
_NO_EXECUTOR: Executor = None  # type: ignore[assignment] # this judge executes nothing


def run() -> list[Result]:
    """Return sentences per second: the seven published metrics, and the whole judge."""
    folder = os.environ.get("KGBENCH_EXTERNAL_DATA")
    work = _sample() if folder is None else _stored(Path(folder) / "text2kgbench")
    note = f"{len(work)} sentences" + (" of our own, repeated" if folder is None else "")
    stems.load()
    results = []
    for what, score in (("published metrics", _published), ("all metrics", _judged)):
        timed = measure(_all(score, work))
        results.append(
            Result(
                f"scoring, {what}",
                len(work) / timed.median,
                "sentences/s",
                goal=GOAL,
                note=f"{note}, spread {timed.spread:.0%}",
            )
        )
    return results


def _all(score: Callable[[Case, str], None], work: list[tuple[Case, str]]) -> Callable[[], None]:
    def score_all() -> None:
        stems.clear_caches()  # start each measurement like a new process
        for case, answer in work:
            score(case, answer)

    return score_all


def _published(case: Case, answer: str) -> None:
    content = content_of(case)
    triples = parse(answer).triples
    published_scores(triples, content.truth, content.sentence, content.ontology)


def _judged(case: Case, answer: str) -> None:
    text2kg.judge(case, [answer], _NO_EXECUTOR)


def _sample() -> list[tuple[Case, str]]:
    task = catalogue.labelled_tasks()["Text2KG-sample"]
    cases = list(text2kg.cases(task, SUITE, 0, 100))
    return [(c, text2kg.reference(c)) for _ in range(_SAMPLES // len(cases)) for c in cases]


def _stored(root: Path) -> list[tuple[Case, str]]:
    work = []
    for responses in response_sets(root, "wikidata_tekgen"):
        if responses.split != "test":
            continue
        for name in responses.files:
            part = text2kgbench.read_part(root, responses.collection, name)
            cases = {case.uid: case for case in part_cases(part_task(part, "test"), SUITE, part)}
            answers = responses.read_ontology(name).responses
            work += [(cases[each.id], each.text) for each in answers]
    return work
