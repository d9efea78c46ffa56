# SPDX-License-Identifier: Apache-2.0
"""Plans and questions for judging the dialogues of a run.

Judging is a separate run with its own cases, executed by the same engine as any other. So verdicts
are recorded, resumed, limited and paid for like answers, and the judged dialogues do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeAlias

from kgbench.api import Json, Store, Task, TaskError, Turn, make_case, make_task
from kgbench.config import model_setup, turtle
from kgbench.engine.planning import Exercise, PlanExercises
from kgbench.model import Plan
from kgbench.on_demand import OnDemand
from kgbench.plugins.judging.dialogues import BEST_SCORE, JudgeableDialogue, judgeable_dialogues
from kgbench.rdf import canonical_json, digest
from kgbench.record.bulk import of_dialogues
from kgbench.record.judgements import Rubric
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import JUDGEMENTS
from kgbench.run_selection import Selection

TASK_CLASS = "JudgeVerdict"

_MARK_DIGITS = 16  # of the mark, a digest of the material, which the material itself cannot contain


class Piece(NamedTuple):
    """A text that a judge is shown, with a title."""

    title: str
    text: str


def prompt(rubric: Rubric, order: Sequence[str], material: Sequence[Piece]) -> str:
    """Return the message to a judge; ``order`` has the names of the options in their order.

    Lines with a mark, a digest of all the material, delimit each piece, so that no text can end its
    own piece or begin another one.
    """
    texts = [part for piece in material for part in piece]
    mark = f"=== {digest(chr(0).join(texts))[:_MARK_DIGITS]}"
    marked = [f"{mark} {piece.title}\n{piece.text}" for piece in material]
    return rubric.prompt(order, mark, "\n".join([*marked, f"{mark} end"]))


def task_of(rubric: Rubric) -> Task:
    """Return the task of judging by a rubric."""
    parameters = {"rubric": rubric.name, "rubricVersion": rubric.version}
    return make_task(TASK_CLASS, f"{TASK_CLASS}-{rubric.name}", parameters)


def judges_plan(rubric: Rubric, name: str, models: Sequence[str], **chosen: Json) -> Plan:
    """Return the plan of a run of judges called ``name``.

    ``chosen`` sets other fields of :class:`~kgbench.model.Plan`, if they are not ``None``. Raises
    :class:`~kgbench.errors.ModelSpecError` for an unknown model.
    """
    plan = Plan(
        name=name,
        suite=JUDGEMENTS,
        tasks=(task_of(rubric),),
        models=tuple(model_setup(spec) for spec in dict.fromkeys(models)),
        iterations=1,
        iterations_per_case=True,
    )
    plan = replace(plan, **{field: value for field, value in chosen.items() if value is not None})
    return replace(plan, source_ttl=turtle.plan_to_turtle(plan))


def exercise(
    rubric: Rubric,
    order: Sequence[str],
    material: Sequence[Piece],
    known: str | None,
    *,
    counted_alone: bool = False,
    **about: Json,
) -> Exercise:
    """Build the question for a verdict on ``material``, with the options in ``order``.

    ``known`` is the name of the correct or implied verdict, if any; ``about`` are further fields of
    the case that identify the judged items. ``counted_alone`` is passed to
    :class:`~kgbench.engine.planning.Exercise`.
    """
    task = task_of(rubric)
    text = prompt(rubric, order, material)
    data: dict[str, Json] = {
        "rubric": rubric.iri,
        "order": list(order),
        "options": {option.name: option.iri for option in rubric.options},
        "values": {o.name: o.value for o in rubric.options if o.value is not None},
        "undecided": rubric.undecided,
        "executed": known,
        **about,
        "prompt": digest(text),
    }
    case = make_case(JUDGEMENTS, TASK_CLASS, task.parameters, data)
    return Exercise(task, case, text, digest(text), counted_alone=counted_alone)


_DIGITS = 6  # of the digest in the name of a run of judges
_GROUP_SIZE = 64  # exercises whose texts are read together
_CACHED_GROUPS = 8  # groups of exercises in the cache: judges may be at different positions

Group: TypeAlias = tuple[JudgeableDialogue, ...]
"""The subject of a verdict: a dialogue, or a pair in the order in which it is shown."""


@dataclass(frozen=True, slots=True)
class JudgingRequest:
    """A request to judge dialogues of a run by a rubric.

    ``sample`` is the number of dialogues (or pairs) chosen at random by ``seed``, always the same
    ones; ``None`` takes all. ``samples`` is the number of verdicts of each judge on each of them.
    """

    rubric: Rubric
    selection: Selection = field(default_factory=Selection)
    sample: int | None = None
    seed: int = 0
    samples: int = 1


def judging_plan(
    run: RunInfo, judging: JudgingRequest, models: Sequence[str], **chosen: Json
) -> Plan:
    """Return the plan of the judges' run.

    ``chosen`` sets other fields of :class:`~kgbench.model.Plan`. The name of the plan depends on
    everything that determines the questions, so that the same command resumes the run. Raises
    :class:`~kgbench.errors.ModelSpecError` for an unknown model.
    """
    rubric = judging.rubric
    parts = {
        "rubric": rubric.iri,
        "run": run.iri,
        "models": sorted({model_setup(spec).spec for spec in models}),
        "tasks": sorted(judging.selection.tasks),
        "judged": sorted(judging.selection.models),
        "sample": [judging.sample, judging.seed, judging.samples],
    }
    name_suffix = digest(canonical_json(parts))[:_DIGITS]
    name = f"judge {rubric.name} of {run.label[:120]} ({name_suffix})"
    fixed = {"iterations": judging.samples, "seed": judging.seed}
    return judges_plan(rubric, name, models, **fixed, **chosen)


def judging_questions(store: Store, run: RunInfo, judging: JudgingRequest) -> PlanExercises:
    """Return the questions to judges about the dialogues of a run.

    Texts are read from the store when an exercise is requested, which limits memory. Raises
    :class:`~kgbench.errors.TaskError` if there is nothing to judge.
    """
    task = task_of(judging.rubric)
    ordered_groups = [
        order
        for group in verdict_subjects(store, run, judging)
        for order in ([group] if len(group) == 1 else [group, group[::-1]])
    ]
    exercises = Exercises(store, run, judging.rubric, judging.seed)
    pieces = OnDemand(len(ordered_groups), exercises.maker(ordered_groups))
    return PlanExercises({task.label: pieces}, judged=(run.iri,))


def verdict_subjects(store: Store, run: RunInfo, judging: JudgingRequest) -> list[Group]:
    """Return the subjects of verdicts: dialogues, or pairs of two models about the same case.

    Raises :class:`~kgbench.errors.TaskError` if there is nothing to judge.
    """
    dialogues = judgeable_dialogues(store, run, judging.selection)
    items = list(_groups(judging.rubric, dialogues))
    if not items:
        raise TaskError(f"the run {run.id} has nothing to {judging.rubric.kind}")
    if judging.sample is None:
        return items
    ranked = sorted(items, key=lambda group: random_key(judging.seed, group))
    kept = set(map(dialogue_iris, ranked[: judging.sample]))
    return [group for group in items if dialogue_iris(group) in kept]


class Exercises:
    """Builds exercises about dialogues of a run, with texts read from the store.

    ``seed`` shuffles the options of each exercise. Texts are read for groups of neighbouring
    exercises, and the latest groups are cached.
    """

    def __init__(self, store: Store, run: RunInfo, rubric: Rubric, seed: int) -> None:
        self._store = store
        self._run = run
        self._rubric = rubric
        self._seed = seed

    def of(self, group: Group) -> ShownExercise:
        """Return the exercise about the dialogues of ``group``, in this order, with its texts."""
        return self._build(group, of_dialogues(self._store, self._run.graph, dialogue_iris(group)))

    def maker(self, groups: Sequence[Group]) -> Callable[[int], Exercise]:
        """Return a function that builds the exercise about the group at an index."""

        @lru_cache(_CACHED_GROUPS)
        def part(number: int) -> list[Exercise]:
            items = groups[number * _GROUP_SIZE : (number + 1) * _GROUP_SIZE]
            names = dict.fromkeys(name for item in items for name in dialogue_iris(item))
            turns_by_dialogue = of_dialogues(self._store, self._run.graph, names)
            return [self._build(item, turns_by_dialogue).exercise for item in items]

        return lambda k: part(k // _GROUP_SIZE)[k % _GROUP_SIZE]

    def _build(
        self, group: Group, turns_by_dialogue: Mapping[str, Sequence[Turn]]
    ) -> ShownExercise:
        rubric = self._rubric
        material = tuple(_material(rubric, group, turns_by_dialogue))
        built = exercise(
            rubric,
            _option_order(rubric, self._seed, group),
            material,
            implied_verdict(rubric, group),
            counted_alone=True,
            items=[
                _item(dialogue, turns_by_dialogue[dialogue.dialogue][-1].answer or "")
                for dialogue in group
            ],
        )
        return ShownExercise(built, material)


class ShownExercise(NamedTuple):
    """An exercise, and the material in its prompt."""

    exercise: Exercise
    material: tuple[Piece, ...]


def _groups(rubric: Rubric, dialogues: Sequence[JudgeableDialogue]) -> Iterator[Group]:
    """Yield the dialogues, or pairs of two models about the same case, that a rubric applies to."""
    if rubric.kind == "compare":
        by_case: dict[tuple[str, str, int], list[JudgeableDialogue]] = {}
        for dialogue in dialogues:
            key = (dialogue.task.iri, dialogue.case, dialogue.iteration)
            for other in by_case.setdefault(key, []):
                if other.model != dialogue.model:
                    yield (other, dialogue)
            by_case[key].append(dialogue)
        return
    for dialogue in dialogues:
        if rubric.kind == "check" and not dialogue.scores:
            continue
        if rubric.kind == "classify" and (dialogue.score is None or dialogue.score >= BEST_SCORE):
            continue
        yield (dialogue,)


def _option_order(rubric: Rubric, seed: int, group: Group) -> list[str]:
    """Shuffle the options, differently for each item; the undecided option is last.

    In comparisons the options keep their declared order, because the answers change places.
    """
    names = [option.name for option in rubric.options if not option.undecided]
    if rubric.kind != "compare":
        Random(random_key(seed, group)).shuffle(names)  # noqa: S311 - no secret
    return [*names, rubric.undecided]


def _material(
    rubric: Rubric, group: Group, turns_by_dialogue: Mapping[str, Sequence[Turn]]
) -> Iterator[Piece]:
    first = turns_by_dialogue[group[0].dialogue]
    yield Piece("task", first[0].prompt)
    if rubric.kind == "compare":
        for title, dialogue in zip(("first answer", "second answer"), group, strict=True):
            yield Piece(title, turns_by_dialogue[dialogue.dialogue][-1].answer or "")
        return
    for k, turn in enumerate(first):
        if k:
            yield Piece("feedback to the answer", turn.prompt)
        last = k == len(first) - 1
        yield Piece("answer" if last else "earlier answer", turn.answer or "")
    if rubric.kind == "check":
        scores = sorted(group[0].scores.items())
        yield Piece("scores", "\n".join(f"{name}: {value:.4g}" for name, value in scores))


def implied_verdict(rubric: Rubric, group: Group) -> str | None:
    """Return the name of the verdict that scores imply; for pairs, the better answer or a tie."""
    if rubric.kind != "compare":
        return rubric.implied(group[0].score)
    first, second = group[0].score, group[1].score
    if first is None or second is None:
        return None
    return "tie" if first == second else "first" if first > second else "second"


def _item(dialogue: JudgeableDialogue, answer: str) -> dict[str, Json]:
    return {
        "dialogue": dialogue.dialogue,
        "model": dialogue.model,
        "task": dialogue.task.iri,
        "case": dialogue.case,
        "characters": len(answer),
    }


def dialogue_iris(group: Group) -> tuple[str, ...]:
    """Return the IRIs of the dialogues of a group."""
    return tuple(dialogue.dialogue for dialogue in group)


def random_key(seed: int, group: Group) -> str:
    """Return a pseudo-random sort key that depends on the seed and the dialogues only."""
    return digest(canonical_json([seed, *dialogue_iris(group)]))
