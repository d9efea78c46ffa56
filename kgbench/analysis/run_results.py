# SPDX-License-Identifier: Apache-2.0
"""The results of a run: its leaderboard, outcomes, worst dialogues, and changes of its models.

A model is identified by its name and settings, not by its address, so that a server may move. A
provider may send requests on to another model than the one that was asked: another model answered,
or it has several addresses.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final

import pyoxigraph as ox

from kgbench.analysis import outcomes
from kgbench.analysis.leaderboard import leaderboard, published_sets, standings_table
from kgbench.analysis.outcomes import Ending
from kgbench.analysis.run_totals import catalogue_models
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import MOST, ScoredDialogue, worst_dialogues
from kgbench.config.specs import model_setup
from kgbench.connectors import extraction
from kgbench.errors import ModelSpecError, QueryError
from kgbench.model import ModelSetup
from kgbench.rdf import queries
from kgbench.record import identity
from kgbench.record.identity import Configuration
from kgbench.record.reading import RunInfo
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names, displayed
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import select
from kgbench.scores.selectors import with_left_out_notes
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.tables import Table
from kgbench.vocab import KGB, RDFS

_SNAPSHOT: Final = re.compile(r"(?:[-@:](?:latest|\d{3,8}(?:-\d\d){0,2}))$")
_LATEST: Final = re.compile(r"[-@:]latest$")


def identity_changes(store: Store, run: RunInfo) -> list[str]:
    """Return a line for each change of identity in ``run``, from what is recorded.

    These are models answered by another model than asked or by several, and models that the store
    has at several addresses.
    """
    return [*_other_models(store, run), *_addresses(store, run)]


def _other_models(store: Store, run: RunInfo) -> Iterator[str]:
    answering: dict[str, dict[str, int]] = defaultdict(dict)
    for row in store.query(fill("answering-models.rq", graph=run.graph)):
        answering[row["model"].value][row["answering"].value] = int(row["calls"].value)
    for iri, model in catalogue_models(store).items():
        counts = answering.get(iri, {})
        if len(counts) > 1 or not all(is_same_model(model.id, name) for name in counts):
            names = ", ".join(f"{name} ({number:,})" for name, number in counts.items())
            kind = "several models" if len(counts) > 1 else "another model"
            yield f"{model.label} was asked as '{model.id}', but {kind} answered: {names}"


def is_same_model(asked: str, answering: str) -> bool:
    """Return whether a model is the one that was asked, or a dated snapshot of it.

    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06")
    True
    >>> is_same_model("gpt-4o", "gpt-4o-mini")
    False
    """
    wanted, name = (text.rpartition("/")[2].lower() for text in (asked, answering))
    undated = _LATEST.sub("", wanted)
    return name in (wanted, undated) or _SNAPSHOT.sub("", name) == undated


def _addresses(store: Store, run: RunInfo) -> Iterator[str]:
    """Yield a line for each model of the run that the store has at several addresses."""
    setups = [
        setup for session in identity.configurations(store, run) for setup in _setups(session)
    ]
    addresses: dict[str, set[str]] = defaultdict(set)
    for setup in setups:
        addresses[setup.iri].add(setup.base_url or f"the default address of {setup.connector}")
    for row in store.query(fill("model-addresses.rq", catalogue=store.iris.catalogue)):
        addresses[row["model"].value].add(row["address"].value)
    for model, label in {setup.iri: setup.label for setup in setups}.items():
        if len(addresses[model]) > 1:
            listed = ", ".join(sorted(addresses[model]))
            yield f"{label} has several addresses in this store: {listed}"


def _setups(session: Configuration) -> Iterator[ModelSetup]:
    """Yield the models of a session's configuration that this version can read."""
    quads = list(ox.parse(session.text, format=ox.RdfFormat.TURTLE))
    labels = {q.subject: q.object.value for q in quads if q.predicate.value == RDFS.label}
    for quad in quads:
        if quad.predicate.value == KGB.spec:
            try:
                yield model_setup(quad.object.value, labels.get(quad.subject))
            except ModelSpecError:  # of a connector that is not installed here
                continue


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
