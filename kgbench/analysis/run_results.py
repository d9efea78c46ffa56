# SPDX-License-Identifier: Apache-2.0
"""The results of a run: its leaderboard, the outcomes of its answers, its worst dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kgbench.analysis import outcomes
from kgbench.analysis import scores as fetch
from kgbench.analysis.identity_changes import identity_changes
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.score_selectors import with_left_out_notes
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Table
from kgbench.analysis.worst import ScoredDialogue, worst_dialogues
from kgbench.rdf import queries
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store

MANY = 0.1  # the least share of a model's answers with an outcome that causes a warning
#: Advice by outcome, for outcomes in which answers say little about the ability of a model.
HINTS = {
    "truncated": "raise max_tokens, or choose a model with a longer context",
    "context-too-long": "choose a model with a longer context, or smaller tasks; if the context of "
    "its server was raised, the same command with --retry-errors asks again",
    "refused": "read what the model wrote instead",
    "unparsable": "read whether the model keeps to the form that prompts ask for",
    "empty": "read whether the answer went into the reasoning, or was cut off",
}


_REPEATED = 4  # times that a text must end with the same characters, at least
_COVERED = 100  # characters that they cover, at least
_LONGEST = 400  # characters that are repeated, at most


class RunResults(NamedTuple):
    """The results of a run; ``outcomes`` counts the answers of each model (name) by outcome.

    ``endless`` counts its answers that repeat the same text until they are cut off, ``changes`` are
    lines about other models or addresses behind the names of models.
    """

    table: Table
    outcomes: dict[str, Counter[str]]
    endless: Counter[str]
    worst: list[ScoredDialogue]
    changes: list[str]

    def warnings(self) -> Iterator[str]:
        """Yield the changes, and a line for each model and outcome of many of its answers."""
        yield from self.changes
        for model, counts in sorted(self.outcomes.items()):
            answers = sum(counts.values())
            things = f"{answers:,} {'answer' if answers == 1 else 'answers'} of {model}"
            if endless := self.endless[model]:
                yield (
                    f"{endless:,} of {things} repeat the same text up to the limit of tokens: "
                    f"a higher limit does not help"
                )
            for outcome, hint in HINTS.items():
                number = counts[outcome] - (endless if outcome == "truncated" else 0)
                if number > 0 and number >= MANY * answers:
                    yield f"{number:,} of {things} are {outcome.replace('-', ' ')}: {hint}"


def run_results(store: Store, run: RunInfo, *, whole_store: bool) -> RunResults:
    """Compute the results of ``run``; with ``whole_store``, the table covers its whole suite."""
    of_run = select(store, run=run.iri)
    ranked: Selection = select(store, suite=run.suite) if whole_store else of_run
    models = fetch.models(store)
    counted: dict[str, Counter[str]] = {}
    for (model, _), counts in outcomes.of_answers(store, of_run).items():
        counted.setdefault(models.name(model), Counter()).update(counts)
    endless: Counter[str] = Counter()
    for row in queries.run(store, "truncated-answers", runGraph=run.graph):
        endless[models.name(row["model"].value)] += is_endless(row["answerText"].value)
    table = with_left_out_notes(store, leaderboard(store, ranked))
    worst, changes = worst_dialogues(store, of_run), identity_changes(store, run)
    return RunResults(table, counted, endless, worst, changes)


def is_endless(text: str) -> bool:
    """Return whether ``text`` ends with the same characters again and again.

    Small models fall into such loops, and leave them only at a limit.

    >>> is_endless("Anne knows Bob. " + "Bob knows Anne. " * 9), is_endless("a, b, c, d")
    (True, False)
    """
    for length in range(1, _LONGEST + 1):
        covered = length * max(_REPEATED, -(-_COVERED // length))
        tail = text[-covered:]
        if len(tail) == covered and tail[length:] == tail[:-length] and tail.strip():
            return True
    return False
