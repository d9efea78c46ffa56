# SPDX-License-Identifier: Apache-2.0
"""From stored dialogues to what judges are asked: a run of its own, with cases of its own.

A judge is asked by the same engine as any model. So verdicts are recorded, continued, limited and
paid for as answers are, and the judged dialogues are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeAlias

from kgbench.config import model_setup, turtle
from kgbench.engine.planning import Exercise
from kgbench.engine.published import Asked
from kgbench.errors import TaskError
from kgbench.judges.dialogues import BEST, Judged, judgeable
from kgbench.judges.prompts import Piece
from kgbench.judges.questions import exercise, task_of
from kgbench.judges.rubrics import Rubric
from kgbench.model import Json, Plan, Turn
from kgbench.on_demand import OnDemand
from kgbench.rdf import canonical_json, digest
from kgbench.record import turns
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import JUDGEMENTS
from kgbench.run_selection import Selection
from kgbench.store.protocol import Store

_DIGITS = 6  # of the digest that tells runs of judges apart by their names
_PART = 64  # exercises whose texts are read at once
_PARTS = 8  # kept: judges may be apart

Group: TypeAlias = tuple[Judged, ...]
"""What one verdict is about: a dialogue, or two in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What judges are to do: a rubric on some dialogues of a run.

    ``sample`` takes so many dialogues (or pairs) at random by ``seed``, the same ones every time;
    ``samples`` is how often each judge is asked about each of them.
    """

    rubric: Rubric
    selection: Selection = field(default_factory=Selection)
    sample: int | None = None
    seed: int = 0
    samples: int = 1


def judging_plan(run: RunInfo, judging: Judging, models: Sequence[str], **chosen: Json) -> Plan:
    """The plan of the judges' run; ``chosen`` are other fields of :class:`~kgbench.model.Plan`.

    Its name depends on all that decides which questions are asked, so that the same command
    continues it. Raises :class:`~kgbench.errors.ModelSpecError` for an unknown model.
    """
    rubric = judging.rubric
    setups = tuple(model_setup(spec) for spec in dict.fromkeys(models))
    parts = {
        "rubric": rubric.iri,
        "run": run.iri,
        "models": sorted(setup.spec for setup in setups),
        "tasks": sorted(judging.selection.tasks),
        "judged": sorted(judging.selection.models),
        "sample": [judging.sample, judging.seed, judging.samples],
    }
    named = digest(canonical_json(parts))[:_DIGITS]
    plan = Plan(
        name=f"judge {rubric.name} of {run.label[:120]} ({named})",
        suite=JUDGEMENTS,
        tasks=(task_of(rubric),),
        models=setups,
        iterations=judging.samples,
        iterations_per_case=True,
        seed=judging.seed,
    )
    plan = replace(plan, **{key: value for key, value in chosen.items() if value is not None})
    return replace(plan, source_ttl=turtle.written(plan))


def questions(store: Store, run: RunInfo, judging: Judging) -> Asked:
    """What judges are asked about the dialogues of a run.

    Texts are read from the store when an exercise is asked for: memory stays flat. Raises
    :class:`~kgbench.errors.TaskError` where there is nothing to ask about.
    """
    task = task_of(judging.rubric)
    shown = [order for group in groups(store, run, judging) for order in _orders(group)]
    exercises = Exercises(store, run, judging.rubric, judging.seed)
    pieces = OnDemand(len(shown), exercises.maker(shown))
    return Asked({task.label: pieces}, judged=(run.iri,))


def groups(store: Store, run: RunInfo, judging: Judging) -> list[Group]:
    """What verdicts are about: a dialogue each, or two models' dialogues about the same case.

    Raises :class:`~kgbench.errors.TaskError` where there is nothing to judge.
    """
    found = judgeable(store, run, judging.selection)
    items = list(_groups(judging.rubric, found))
    if not items:
        raise TaskError(f"the run {run.id} has nothing to {judging.rubric.kind}")
    if judging.sample is None:
        return items
    ranked = sorted(items, key=lambda group: rank(judging.seed, group))
    kept = set(map(iris, ranked[: judging.sample]))
    return [group for group in items if iris(group) in kept]


class Exercises:
    """Makes exercises about dialogues of a run by a rubric, with texts of the store.

    ``seed`` shuffles the options of each. Texts are read for some neighbours at once, and the
    latest are kept.
    """

    def __init__(self, store: Store, run: RunInfo, rubric: Rubric, seed: int) -> None:
        self._store = store
        self._run = run
        self._rubric = rubric
        self._seed = seed

    def of(self, shown: Group) -> Shown:
        """The exercise about ``shown``, in this order, with its texts one by one."""
        return self._made(shown, turns.of_dialogues(self._store, self._run.graph, iris(shown)))

    def maker(self, shown: Sequence[Group]) -> Callable[[int], Exercise]:
        """Makes the exercise about the item of ``shown`` at an index."""

        @lru_cache(_PARTS)
        def part(number: int) -> list[Exercise]:
            items = shown[number * _PART : (number + 1) * _PART]
            names = dict.fromkeys(name for group in items for name in iris(group))
            said = turns.of_dialogues(self._store, self._run.graph, names)
            return [self._made(group, said).exercise for group in items]

        return lambda k: part(k // _PART)[k % _PART]

    def _made(self, shown: Group, said: Mapping[str, Sequence[Turn]]) -> Shown:
        rubric = self._rubric
        material = tuple(_material(rubric, shown, said))
        made = exercise(
            rubric,
            _option_order(rubric, self._seed, shown),
            material,
            implied(rubric, shown),
            counted_alone=True,
            items=[_item(one, said[one.dialogue][-1].answer or "") for one in shown],
        )
        return Shown(made, material)


class Shown(NamedTuple):
    """An exercise, and the texts of others in its prompt."""

    exercise: Exercise
    material: tuple[Piece, ...]


def _groups(rubric: Rubric, found: Sequence[Judged]) -> Iterator[Group]:
    """What each question is about: a dialogue, a failed one, or two models' of the same case."""
    if rubric.kind == "compare":
        alike: dict[tuple[str, str, int], list[Judged]] = {}
        for one in found:
            key = (one.task.iri, one.case, one.iteration)
            for other in alike.setdefault(key, []):
                if other.model != one.model:
                    yield (other, one)
            alike[key].append(one)
        return
    for one in found:
        if rubric.kind == "check" and not one.scores:
            continue
        if rubric.kind == "classify" and (one.score is None or one.score >= BEST):
            continue
        yield (one,)


def _orders(group: Group) -> list[Group]:
    """A pair is shown in both orders."""
    return [group] if len(group) == 1 else [group, group[::-1]]


def _option_order(rubric: Rubric, seed: int, shown: Group) -> list[str]:
    """The options in an order by chance, which differs between items; undecided comes last.

    Where two answers are compared, they change places, and the options stay as declared.
    """
    names = [option.name for option in rubric.options if not option.undecided]
    if rubric.kind != "compare":
        Random(rank(seed, shown)).shuffle(names)  # noqa: S311 - no secret
    return [*names, rubric.undecided]


def _material(rubric: Rubric, shown: Group, said: Mapping[str, Sequence[Turn]]) -> Iterator[Piece]:
    first = said[shown[0].dialogue]
    yield Piece("task", first[0].prompt)
    if rubric.kind == "compare":
        for title, one in zip(("first answer", "second answer"), shown, strict=True):
            yield Piece(title, said[one.dialogue][-1].answer or "")
        return
    for k, turn in enumerate(first):
        if k:
            yield Piece("feedback to the answer", turn.prompt)
        last = k == len(first) - 1
        yield Piece("answer" if last else "earlier answer", turn.answer or "")
    if rubric.kind == "check":
        scores = sorted(shown[0].scores.items())
        yield Piece("scores", "\n".join(f"{name}: {value:.4g}" for name, value in scores))


def implied(rubric: Rubric, shown: Group) -> str | None:
    """The name of the verdict that scores imply; of a pair, the answer with the higher one."""
    if rubric.kind != "compare":
        return rubric.implied(shown[0].score)
    first, second = shown[0].score, shown[1].score
    if first is None or second is None:
        return None
    return "tie" if first == second else "first" if first > second else "second"


def _item(one: Judged, answer: str) -> dict[str, Json]:
    return {
        "dialogue": one.dialogue,
        "model": one.model,
        "task": one.task.iri,
        "case": one.case,
        "characters": len(answer),
    }


def iris(group: Group) -> tuple[str, ...]:
    """The IRIs of the dialogues of a group."""
    return tuple(one.dialogue for one in group)


def rank(seed: int, group: Group) -> str:
    """A place by chance, the same for the same seed and dialogues; it sorts as text."""
    return digest(canonical_json([seed, *iris(group)]))
