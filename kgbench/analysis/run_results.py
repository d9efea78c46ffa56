# SPDX-License-Identifier: Apache-2.0
"""The results of a run: its leaderboard, the outcomes of its answers, its worst dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from kgbench.analysis import outcomes
from kgbench.analysis.identity_changes import identity_changes
from kgbench.analysis.leaderboard import leaderboard, published_sets
from kgbench.analysis.outcomes import Ending
from kgbench.analysis.standings import standings_table
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import MOST, ScoredDialogue, worst_dialogues
from kgbench.connectors import extraction
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.record.reading import RunInfo
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names, displayed
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import select
from kgbench.scores.selectors import with_left_out_notes
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.tables import Table


class RunResults:
    """The results of a run, each computed when it is first used.

    With ``whole_store``, the leaderboard covers the whole suite of the run. Raises
    :class:`~kgbench.errors.QueryError` before the first evaluation pass.
    """

    def __init__(self, store: Store, run: RunInfo, *, whole_store: bool = False) -> None:
        self._store = store
        self._run = run
        self._of_run = select(store, run=run.iri)
        self._ranked = select(store, suite=run.suite) if whole_store else self._of_run

    @cached_property
    def table(self) -> Table:
        """The leaderboard."""
        return with_left_out_notes(self._store, standings_table(self._store, self._ranked))

    @cached_property
    def tasks(self) -> Table | None:
        """The scores by task without intervals; ``None`` if a task has no main metric."""
        try:
            return task_scores(self._store, self._of_run, estimand=DIALOGUES)
        except QueryError:
            return None

    @cached_property
    def published(self) -> Table | None:
        """The leaderboard of the run's suite with the scores that a paper prints, if one does.

        It is that of the first score set for which the store has scores.
        """
        suite = self._run.suite
        for score_set in sorted(name for of_suite, name in published_sets() if of_suite == suite):
            with suppress(QueryError):  # the store has no scores of this set
                selection = select(self._store, suite=suite)
                table = leaderboard(self._store, selection, set=score_set, published=True)
                return displayed(table, display_names(self._store))
        return None

    @cached_property
    def endings(self) -> dict[str, Counter[Ending]]:
        """The numbers of answers of each model (name) by their ending."""
        models = catalogue.models(self._store)
        counted: dict[str, Counter[Ending]] = {}
        for (model, _), counts in outcomes.of_answers(self._store, self._of_run).items():
            counted.setdefault(models.name(model), Counter()).update(counts)
        return counted

    @cached_property
    def warnings(self) -> list[str]:
        """A line for each reason to doubt the scores; see :func:`warnings`."""
        return warnings(self._store, self._run, self.endings)

    def worst(self, limit: int = MOST) -> list[ScoredDialogue]:
        """Return the worst dialogues."""
        return worst_dialogues(self._store, self._of_run, limit)


MANY = 0.1  # the least share of a model's answers with an outcome that causes a warning
#: Advice by outcome, for outcomes in which answers say little about the ability of a model.
HINTS = {
    "truncated": "raise max_tokens, or choose a model with a longer context",
    "context-too-long": "choose a model with a longer context, or smaller tasks; if the context of "
    "its server was raised, the same command with --retry-errors asks again",
    "refused": "see what the model wrote instead",
    "unparsable": "check that the model keeps to the form that prompts ask for",
    "empty": "check whether the answer was cut off, or stands in the reasoning",
}
_REPEATED = 4  # times that a text must end with the same characters, at least
_COVERED = 100  # characters that they cover, at least
_LONGEST = 400  # characters that are repeated, at most


def warnings(store: Store, run: RunInfo, endings: Mapping[str, Counter[Ending]]) -> list[str]:
    """Return a line for each reason to doubt the scores of a run.

    ``endings`` counts the answers of each model (name). The first lines are about other models or
    addresses behind the names of models.
    """
    models = catalogue.models(store)
    endless: Counter[str] = Counter()
    for row in queries.run(store, "truncated-answers", runGraph=run.graph):
        endless[models.name(row["model"].value)] += is_endless(row["answerText"].value)
    aloud: dict[str, Counter[str]] = {}
    for row in store.query(fill("reasoning-in-answers.rq", graph=run.graph)):
        step = extraction.fitting(row["value"].value)
        if step is not None:
            aloud.setdefault(models.name(row["model"].value), Counter())[step] += 1
    lines = identity_changes(store, run)
    for model, counts in sorted(endings.items()):
        lines += about_model(model, counts, endless[model], aloud.get(model, {}))
    return lines


def about_model(
    model: str, endings: Counter[Ending], endless: int, aloud: Mapping[str, int]
) -> Iterator[str]:
    """Yield the warnings about the answers of a model.

    ``endless`` counts those that repeat the same text until they are cut off, ``aloud`` those that
    begin with reasoning, by the extraction step that separates it.
    """
    answers = endings.total()
    causes: Counter[str] = Counter()  # an answer that was cut off cannot be parsed for that reason
    for ending, number in endings.items():
        causes[ending.reported or ending.outcome] += number
    things = f"{answers:,} {'answer' if answers == 1 else 'answers'} of {model}"
    if endless:
        yield (
            f"{endless:,} of {things} repeat the same text up to the limit of tokens: "
            f"a higher limit does not help"
        )
    for outcome, hint in HINTS.items():
        number = causes[outcome] - (endless if outcome == "truncated" else 0)
        if number > 0 and number >= MANY * answers:
            yield f"{number:,} of {things} are {outcome.replace('-', ' ')}: {hint}"
    for step, number in aloud.items():
        if number >= MANY * answers:
            yield (
                f"{number:,} of {things} begin with reasoning, which is judged with them: "
                f"the option extraction={step} separates it"
            )


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
