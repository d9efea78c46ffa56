# SPDX-License-Identifier: Apache-2.0
"""Text2KGBench -> catalogue (ontologies, tasks, cases, problems) and runs (stored responses).

Each set of stored responses becomes a run with the published metrics as its evaluation pass. The
published data say nothing of times: they are the day on which the data were last changed. Prompts
that are not among the data are put together as the published ones were; where the data do not tell
their wording, the recorded prompt says that it is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import overload

from kgbench.datasets import text2kgbench, text2kgbench_prompts
from kgbench.datasets.text2kgbench import Part
from kgbench.datasets.text2kgbench_problems import Problem, problems
from kgbench.importers import text2kgbench_catalogue as catalogue_lines
from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun
from kgbench.importers.repeatable import Repeatable
from kgbench.importers.text2kgbench_ontologies import differences
from kgbench.importers.text2kgbench_responses import Given, Response, ResponseSet, response_sets
from kgbench.importers.text2kgbench_tasks import SUITE, part_task
from kgbench.model import Call, Case, Dialogue, Evaluation, ModelSetup, Reply, Task, Turn
from kgbench.rdf import canonical_json, digest
from kgbench.record import Recorder
from kgbench.scoring.relation_triples import parse
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, text2kg
from kgbench.tasks.text2kg_cases import part_cases

CHANGED = datetime(2024, 5, 6, tzinfo=UTC)
"""When the published data were last changed: what is recorded where no time is published."""
NO_PROMPT = "(The prompt of this response is not among the imported data.)"

_SOFTWARE = Software("Text2KGBench", "1", "50a3d255")


@dataclass
class ImportedPart:
    """One ontology with the tasks and cases made from it, by split, and the faults found."""

    part: Part
    tasks: dict[str, Task] = field(default_factory=dict)
    cases: dict[str, list[Case]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def by_uid(self) -> dict[str, Case]:
        """The cases by id of their sentence."""
        return {str(case.uid): case for found in self.cases.values() for case in found}


@dataclass
class _Checked:
    """What is kept of an ontology once it was read and checked.

    ``known`` and ``unjudged`` count the responses of each set to its cases, and those of them that
    have no published metrics.
    """

    collection: str
    name: str
    tasks: dict[str, Task]
    problems: list[Problem]
    known: Counter[tuple[str, str]] = field(default_factory=Counter)
    unjudged: Counter[tuple[str, str]] = field(default_factory=Counter)


class Parts(Sequence[ImportedPart]):
    """The ontologies below ``root``; each is read when it is asked for, and the last one is kept.

    So memory grows with the largest ontology, and not with the data set.
    """

    def __init__(self, root: Path, checked: Sequence[_Checked]) -> None:
        self.checked = checked
        self._root = root
        self._last: tuple[int, ImportedPart] | None = None

    def __len__(self) -> int:
        return len(self.checked)

    @overload
    def __getitem__(self, place: int) -> ImportedPart: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ImportedPart]: ...
    def __getitem__(self, place: int | slice) -> ImportedPart | Sequence[ImportedPart]:
        """The ontology at a place; raises as :func:`read` does where files changed since."""
        if isinstance(place, slice):
            return Parts(self._root, self.checked[place])
        known = self.checked[place]
        if self._last is None or self._last[0] != place:
            self._last = None  # nothing may hold two of them
            found = _part(self._root, known.collection, known.name)
            found.problems = known.problems
            self._last = place, found
        return self._last[1]


@dataclass(frozen=True)
class ImportedData:
    """Everything that a folder of Text2KGBench data holds."""

    parts: Parts
    sets: tuple[ResponseSet, ...]

    @property
    def problems(self) -> Counter[str]:
        """How often each kind of fault was found."""
        return Counter(problem.kind for one in self.parts.checked for problem in one.problems)


def read(root: Path, progress: Callable[[int], None] | None = None) -> ImportedData:
    """Read and check everything below ``root`` before anything is written.

    Ontologies are read one at a time, and not kept. ``progress`` is told how many are read. Raises
    :class:`~kgbench.errors.ImportRefused`.
    """
    places = text2kgbench.parts(root)
    sets = [s for collection in text2kgbench.COLLECTIONS for s in response_sets(root, collection)]
    there = set(places)
    for responses in sets:
        for name in responses.files:
            if (responses.collection, name) not in there:
                responses.given(name)  # responses that belong to nothing may not be damaged, either
    checked = []
    for collection, name in places:
        of_part = [s for s in sets if s.collection == collection and name in s.files]
        checked.append(_check(root, collection, name, of_part))
        if progress is not None:
            progress(len(checked))
    return ImportedData(Parts(root, checked), tuple(sets))


def write_catalogue(store: Store, data: ImportedData) -> int:
    """Write ontologies, tasks, cases and problems, an ontology at a time; how many cases."""
    number = 0
    for one in data.parts:
        iris, uids = store.iris, one.by_uid
        content = [
            *catalogue_lines.ontology_lines(iris, one.part, _with_verified(one)),
            *catalogue_lines.entries(iris, one.tasks.values(), uids.values()),
            *catalogue_lines.problem_lines(
                iris, one.part, one.problems, {uid: case.iri for uid, case in uids.items()}
            ),
        ]
        store.write([Block(iris.catalogue, content)])
        number += len(uids)
    return number


def runs(root: Path, data: ImportedData, iris: Iris) -> Iterator[ImportedRun]:
    """The stored responses as runs: one for each model, collection and split."""
    for responses in data.sets:
        run = _Conversion(root, iris, responses, data.parts).run()
        if run.items:
            yield run


def _part(root: Path, collection: str, name: str) -> ImportedPart:
    part = text2kgbench.read_part(root, collection, name)
    one = ImportedPart(part)
    for split in ("test", "unseen"):
        if getattr(part, split):
            task = one.tasks[split] = part_task(part, split)
            one.cases[split] = list(part_cases(task, SUITE, part))
    return one


def _check(root: Path, collection: str, name: str, sets: Iterable[ResponseSet]) -> _Checked:
    one = _part(root, collection, name)
    faults = [*problems(one.part), *differences(root, one.part)]
    checked = _Checked(collection, name, one.tasks, faults)
    for responses in sets:
        given = responses.given(name)
        faults += _of_responses(one, responses, given)
        known = list(_known(one, responses, given))
        key = responses.model, responses.split
        checked.known[key] = len(known)
        checked.unjudged[key] = sum(response.metrics is None for response in known)
    return checked


def _known(one: ImportedPart, responses: ResponseSet, given: Given) -> Iterator[Response]:
    """The responses to sentences that are cases."""
    ids = {str(case.uid) for case in one.cases.get(responses.split, ())}
    return (response for response in given.responses if response.id in ids)


def _with_verified(one: ImportedPart) -> dict[str, list[Case]]:
    verified = [case for case in one.cases.get("test", ()) if case.uid in one.part.verified]
    return {**one.cases, "verified": verified}


def _of_responses(one: ImportedPart, responses: ResponseSet, given: Given) -> Iterator[Problem]:
    ids = {response.id for response in given.responses}
    yield from given.problems
    asked = {str(case.uid) for case in one.cases.get(responses.split, ())}
    where = f"{responses.model}, {responses.split}"
    if missing := len(asked - ids):
        yield Problem("missing-response", one.part.ontology.id, f"{missing} of {where}")
    for unknown in sorted(ids - asked):
        yield Problem("unknown-response-id", unknown, where)


class _Conversion:
    """Converts one set of responses."""

    def __init__(self, root: Path, iris: Iris, responses: ResponseSet, parts: Parts) -> None:
        self._root = root
        self._iris = iris
        self._set = responses
        self._parts = parts
        places = {
            one.name: place
            for place, one in enumerate(parts.checked)
            if one.collection == responses.collection and responses.split in one.tasks
        }
        self._places = {name: places[name] for name in responses.files if name in places}
        self._source = f"Text2KGBench {responses.collection} {responses.model} {responses.split}"
        self._digest = responses.digest()
        self._run_id = id_from(f"{self._source}/{self._digest}")
        self._pass_id = id_from(f"{self._run_id}/published")
        self._recorder = Recorder(iris, self._run_id, self._pass_id)
        iri = iris.mint("model", model=slug(responses.model))
        name = responses.model
        self._model = ModelSetup(iri=iri, label=name, connector="", model_id=name, spec=name)
        self._metrics = catalogue.metric_iris(text2kg.NAME)
        self._wording = text2kgbench_prompts.wording(root, responses.collection, responses.split)

    def run(self) -> ImportedRun:
        checked = [self._parts.checked[place] for place in self._places.values()]
        key = self._set.model, self._set.split
        number = sum(one.known[key] for one in checked)
        unjudged = sum(one.unjudged[key] for one in checked)
        tasks = {one.tasks[self._set.split].iri: one.tasks[self._set.split] for one in checked}
        return ImportedRun(
            source=self._source,
            digest=self._digest,
            generation=1,
            suite=SUITE,
            run_id=self._run_id,
            pass_id=self._pass_id,
            started=CHANGED,
            ended=CHANGED,
            software=_SOFTWARE,
            tasks=tasks,
            cases={},  # write_catalogue has written them
            versions={},
            models={self._model.iri: ImportedModel(self._model, (self._set.model,))},
            undeclared_metrics={},
            items=Repeatable(self._items, number),
            unjudged=Repeatable(self._unjudged, unjudged),
            is_judged=unjudged < number,
        )

    def _items(self) -> Iterator[tuple[Dialogue, tuple[Evaluation, ...]]]:
        for dialogue, _, response in self._dialogues():
            yield dialogue, self._evaluations(dialogue, response)

    def _unjudged(self) -> Iterator[tuple[Dialogue, Case]]:
        for dialogue, case, response in self._dialogues():
            if response.metrics is None:
                yield dialogue, text2kg.cleaned_case(case, response.cleaning or "none")

    def _dialogues(self) -> Iterator[tuple[Dialogue, Case, Response]]:
        split = self._set.split
        for name, place in self._places.items():
            one = self._parts[place]
            task, cases = one.tasks[split], {str(case.uid): case for case in one.cases[split]}
            prompts = self._prompts(one.part, cases)
            known = _known(one, self._set, self._set.given(name))
            for iteration, response in enumerate(known):
                case = cases[response.id]
                dialogue = self._dialogue(task, case, iteration, response, prompts)
                yield dialogue, case, response

    def _dialogue(
        self, task: Task, case: Case, iteration: int, response: Response, prompts: dict[str, str]
    ) -> Dialogue:
        planned = digest(canonical_json([self._set.model, response.id, response.text]))
        call = Call(CHANGED, CHANGED, Reply(response.text))
        return Dialogue(
            iri=self._recorder.dialogue_iri(self._set.model, task.label, iteration, planned),
            run=self._recorder.run,
            model=self._model.iri,
            task=task.iri,
            suite=self._iris.mint("suite", suite=SUITE),
            case=case.iri,
            iteration=iteration,
            digest=planned,
            turns=(Turn(prompts.get(response.id, NO_PROMPT), (call,)),),
            started=CHANGED,
            ended=CHANGED,
        )

    def _evaluations(self, dialogue: Dialogue, response: Response) -> tuple[Evaluation, ...]:
        if response.metrics is None:
            return ()
        cleaning = response.cleaning or "none"
        facts = response.facts
        if facts is None:
            facts = parse(response.text, cleaning).triples
        scores = {self._metrics[name]: value for name, value in response.metrics.items()}
        return (
            Evaluation(
                iri=self._recorder.evaluation_iri(dialogue.iri, 0),
                dialogue=dialogue.iri,
                round=0,
                outcome=text2kg.outcome(response.text, facts),
                scores=scores,
                infos={"facts": [list(fact) for fact in facts], "cleaning": cleaning},
                decimals=response.decimals,
            ),
        )

    def _prompts(self, part: Part, cases: Mapping[str, Case]) -> dict[str, str]:
        """The prompts by sentence id: those published, else put together as they were."""
        published = text2kgbench_prompts.prompts(self._root, part, self._set.split)
        if self._wording is None:
            return published
        return {
            uid: text2kg.as_published(case, self._wording)
            for uid, case in cases.items()
            if case.data["examples"]
        } | published
