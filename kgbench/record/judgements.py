# SPDX-License-Identifier: Apache-2.0
"""Verdicts of models and people about one dialogue."""

from __future__ import annotations

from typing import Any, NamedTuple

from kgbench.rdf import queries
from kgbench.record.reviews import reviewer_iri
from kgbench.record.rubrics import Rubric, all_rubric_versions
from kgbench.record.withheld import LEFT_OUT
from kgbench.store.templates import fill


class JudgeCall(NamedTuple):
    """A call of a judge, with the graph of its run and its tokens (``None`` if unknown).

    ``asked`` is the IRI of the judge's dialogue. ``batched`` is true for calls in a batch.
    """

    asked: str
    graph: str
    read: int | None
    written: int | None
    cached: int | None
    batched: bool


class DialogueVerdict(NamedTuple):
    """A verdict about a dialogue with its rubric and its reason.

    ``judge`` is the IRI of a model or of a reviewer, whose pseudonym is ``reviewer``. ``rubric``
    is ``None`` if this kgbench does not declare it. ``chosen`` and ``executed`` (the verdict that
    scores imply, if any) are names of options. ``shown`` is the position of the dialogue in a pair.
    A model's verdict has a ``call``. A person's was ``decided`` at a time, ``seconds`` after the
    item was shown; it ``settles`` disagreements of other people if it is an adjudication.
    """

    verdict: str
    judge: str
    rubric_iri: str
    rubric: Rubric | None
    chosen: str
    executed: str | None
    shown: str | None
    options: tuple[str, ...]
    reason: str
    reviewer: str | None = None
    decided: str | None = None
    seconds: float | None = None
    settles: bool = False
    call: JudgeCall | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether execution implies the same verdict, ``None`` if it implies none."""
        return None if self.executed is None else self.executed == self.chosen


def verdicts_about(store: Any, dialogue: str) -> list[DialogueVerdict]:
    """Return the verdicts about the dialogue with this IRI: of models, then of people, by rubric.

    Revised and invalidated verdicts are left out.
    """
    # The queries for verdicts read the texts of all answers, so they are asked only if needed.
    if not store.query(fill("is-judged.rq", dialogue=dialogue)):
        return []
    known = {rubric.iri: rubric for rubric in all_rubric_versions()}
    of_models = queries.run(store, "verdicts-about", dialogue=dialogue)
    of_people = queries.run(store, "reviews-about", dialogue=dialogue)
    return [
        *(_of_model(row, known.get(row["rubric"].value)) for row in of_models),
        *(_of_person(row, known.get(row["rubric"].value), store) for row in of_people),
    ]


def _of_model(row: Any, rubric: Rubric | None) -> DialogueVerdict:
    text = row["answerText"]
    read, written, cached = (
        None if row[name] is None else int(row[name].value)
        for name in ("inputTokens", "outputTokens", "cachedTokens")
    )
    return DialogueVerdict(
        row["verdict"].value,
        row["judge"].value,
        *_decision(row, rubric),
        reason=LEFT_OUT if text is None else str(text.value),
        call=JudgeCall(
            asked=row["asked"].value,
            graph=row["runGraph"].value,
            read=read,
            written=written,
            cached=cached,
            batched=row["batched"].value == "true",
        ),
    )


def _of_person(row: Any, rubric: Rubric | None, store: Any) -> DialogueVerdict:
    name, why, seconds = row["reviewer"].value, row["rationale"], row["seconds"]
    return DialogueVerdict(
        row["verdict"].value,
        reviewer_iri(store.iris, name),
        *_decision(row, rubric),
        reason="" if why is None else str(why.value),
        reviewer=name,
        decided=row["decided"].value,
        seconds=None if seconds is None else float(seconds.value),
        settles=row["adjudication"].value == "true",
    )


def _decision(
    row: Any, rubric: Rubric | None
) -> tuple[str, Rubric | None, str, str | None, str | None, tuple[str, ...]]:
    """Return the fields that verdicts of models and of people share."""
    names = {} if rubric is None else {option.iri: option.name for option in rubric.options}

    def name(term: Any) -> str:
        iri = str(term.value)
        return names.get(iri, iri.rpartition("/")[2])

    executed = row["executed"]
    compared = rubric is not None and rubric.kind == "compare"
    return (
        row["rubric"].value,
        rubric,
        name(row["chosen"]),
        None if executed is None else name(executed),
        ("first answer", "second answer")[int(row["place"].value)] if compared else None,
        tuple(row["optionOrder"].value.split()),
    )
