# SPDX-License-Identifier: Apache-2.0
"""The results of a run: its leaderboard, the outcomes of its answers, its worst dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kgbench.analysis import outcomes
from kgbench.analysis import scores as fetch
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.score_selectors import with_left_out_notes
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Table
from kgbench.analysis.worst import ScoredDialogue, worst_dialogues
from kgbench.connectors import extraction
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

MANY = 0.1  # the least share of a model's answers with an outcome that causes a warning
#: Advice by outcome, for outcomes in which answers say little about the ability of a model.
HINTS = {
    "truncated": "raise max_tokens, or choose a model with a longer context",
    "context-too-long": "choose a model with a longer context, or smaller tasks",
    "refused": "read what the model wrote instead",
    "unparsable": "read whether the model keeps to the form that prompts ask for",
    "empty": "read whether the answer went into the reasoning, or was cut off",
}


class RunResults(NamedTuple):
    """The results of a run; ``outcomes`` counts the answers of each model (name) by outcome.

    ``aloud`` counts those that begin with reasoning, by the extraction step that separates it.
    """

    table: Table
    outcomes: dict[str, Counter[str]]
    worst: list[ScoredDialogue]
    aloud: dict[str, Counter[str]]

    def warnings(self) -> Iterator[str]:
        """Yield a line for each model and outcome that affects many of its answers."""
        for model, counts in sorted(self.outcomes.items()):
            answers = sum(counts.values())
            things = "answer" if answers == 1 else "answers"
            for outcome, hint in HINTS.items():
                if counts[outcome] and counts[outcome] >= MANY * answers:
                    affected = f"{counts[outcome]:,} of {answers:,} {things} of {model}"
                    yield f"{affected} are {outcome.replace('-', ' ')}: {hint}"
            for step, number in self.aloud.get(model, {}).items():
                if number >= MANY * answers:
                    yield (
                        f"{number:,} of {answers:,} {things} of {model} begin with reasoning, "
                        f"which is judged with them: the option extraction={step} separates it"
                    )


def run_results(store: Store, run: RunInfo, *, whole_store: bool) -> RunResults:
    """Compute the results of ``run``; with ``whole_store``, the table covers its whole suite."""
    of_run = select(store, run=run.iri)
    ranked: Selection = select(store, suite=run.suite) if whole_store else of_run
    models = fetch.models(store)
    counted: dict[str, Counter[str]] = {}
    for (model, _), counts in outcomes.of_answers(store, of_run).items():
        counted.setdefault(models.name(model), Counter()).update(counts)
    table = with_left_out_notes(store, leaderboard(store, ranked))
    return RunResults(table, counted, worst_dialogues(store, of_run), _aloud(store, run))


def _aloud(store: Store, run: RunInfo) -> dict[str, Counter[str]]:
    """Count the answers of each model (name) that begin with reasoning, without an extraction."""
    models = fetch.models(store)
    counted: dict[str, Counter[str]] = {}
    for row in store.query(fill("reasoning-in-answers.rq", graph=run.graph)):
        step = extraction.fitting(row["value"].value)
        if step is not None:
            counted.setdefault(models.name(row["model"].value), Counter())[step] += 1
    return counted
