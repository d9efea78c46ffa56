# SPDX-License-Identifier: Apache-2.0
"""The rubrics of judges, and the verdicts of models and people about one dialogue.

Rubrics are declared in the folders ``rubrics``, with their wording in prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any, NamedTuple

from kgbench import resources
from kgbench.errors import ResourceError, TaskError, nearest
from kgbench.rdf import queries
from kgbench.rdf.declared import Declared
from kgbench.record.reviews import reviewer_iri
from kgbench.record.schema import LEFT_OUT
from kgbench.store.templates import fill
from kgbench.tasks import protection
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

KINDS = ("check", "grade", "compare", "classify")


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


@dataclass(frozen=True, slots=True)
class Option:
    """A verdict that a rubric offers.

    ``value`` (0 to 1) is its numeric value. ``least_score`` is the smallest value of a task's main
    metric that implies it. ``undecided`` marks the option of judges that cannot decide.
    """

    iri: str
    name: str
    definition: str
    value: float | None = None
    least_score: float | None = None
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A short description of material, and the name of the verdict on it."""

    text: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion with its verdicts, in declared order."""

    iri: str
    name: str
    version: str
    label: str
    kind: str
    criterion: str
    note: str
    options: tuple[Option, ...]
    examples: tuple[Example, ...]

    @property
    def undecided(self) -> str:
        """The name of the option for judges that cannot decide."""
        return next(option.name for option in self.options if option.undecided)

    def implied(self, score: float | None) -> str | None:
        """Return the name of the option that a main metric's value implies, or ``None``."""
        if score is None:
            return None
        reached = [
            (option.least_score, option.name)
            for option in self.options
            if option.least_score is not None and score >= option.least_score * (1 - 1e-9)
        ]
        return max(reached)[1] if reached else None

    def prompt(
        self, order: Sequence[str] = (), mark: str = "$mark", material: str = "$material"
    ) -> str:
        """Return the message to a judge about ``material``, whose parts begin with ``mark``.

        ``order`` has the names of the options in their order, by default the declared one.
        """
        definitions = {option.name: option.definition for option in self.options}
        options = [f"* {name}: {definitions[name]}" for name in order or definitions]
        examples = [f"* {example.text} VERDICT: {example.verdict}" for example in self.examples]
        text = protection.without_canary(resources.text("rubrics", "prompt.txt")).strip()
        return Template(text).substitute(
            criterion=self.criterion,
            note=self.note,
            options="\n".join(options),
            examples="\n".join(examples),
            mark=mark,
            material=material,
        )


def rubric(name: str) -> Rubric:
    """Return the newest version of the rubric called ``name``.

    Raises :class:`~kgbench.errors.TaskError`, with the nearest name, for an unknown one.
    """
    known = rubrics()
    if name not in known:
        raise TaskError(f"there is no rubric '{name}': {nearest(name, known)}")
    return known[name]


def rubrics() -> Mapping[str, Rubric]:
    """Return the newest version of every declared rubric, by name."""
    return {version.name: version for version in all_rubric_versions()}


@cache
def all_rubric_versions() -> tuple[Rubric, ...]:
    """Return every version of every declared rubric, sorted by name and version."""
    files = resources.files("rubrics", "*.ttl")
    if not files:  # without the plug-in that brings them
        return ()
    declared = Declared(*files)
    versions = [_rubric(declared, node) for node in declared.instances(KGB.Rubric)]
    return tuple(sorted(versions, key=lambda version: (version.name, int(version.version))))


def _rubric(declared: Declared, node: Any) -> Rubric:
    options = {
        child.value: _option(declared, child) for child in declared.ordered(node, KGB.option)
    }
    kind = declared.required(node, KGB.judgementKind)
    if kind not in KINDS or sum(option.undecided for option in options.values()) != 1:
        raise ResourceError(f"{node}: a rubric needs a known kind and one undecided option")
    return Rubric(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        label=declared.required(node, RDFS.label),
        kind=kind,
        criterion=declared.required(node, SKOS.definition),
        note=declared.text(node, SKOS.scopeNote) or "",
        options=tuple(options.values()),
        examples=tuple(
            Example(
                declared.required(child, KGB.exampleText),
                options[declared.required(child, KGB.exampleVerdict)].name,
            )
            for child in declared.ordered(node, KGB.example)
        ),
    )


def _option(declared: Declared, node: Any) -> Option:
    return Option(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        definition=declared.required(node, SKOS.definition),
        value=declared.read(node, KGB.optionValue, float),
        least_score=declared.read(node, KGB.leastScore, float),
        undecided=bool(declared.value(node, KGB.undecided)),
    )
