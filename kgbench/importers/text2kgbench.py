# SPDX-License-Identifier: Apache-2.0
"""Text2KGBench -> catalogue (ontologies, tasks, cases, problems) and runs (stored responses).

Each set of stored responses becomes a run with the published metrics as its evaluation pass. The
published data say nothing of times and, for most responses, not the prompt: times are the day on
which the data were last changed, and where no prompt is published the recorded prompt says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kgbench.datasets import lines, text2kgbench
from kgbench.datasets.text2kgbench import Part
from kgbench.datasets.text2kgbench_problems import Problem, problems
from kgbench.importers import text2kgbench_catalogue as catalogue_lines
from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun
from kgbench.importers.text2kgbench_ontologies import differences
from kgbench.importers.text2kgbench_responses import Response, ResponseSet, response_sets
from kgbench.importers.text2kgbench_tasks import SUITE, part_task
from kgbench.model import Call, Case, Dialogue, Evaluation, ModelSetup, Reply, Task, Turn
from kgbench.rdf import canonical_json, digest
from kgbench.record import Recorder
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


@dataclass(frozen=True)
class ImportedData:
    """Everything that a folder of Text2KGBench data holds."""

    parts: tuple[ImportedPart, ...]
    sets: tuple[ResponseSet, ...]

    @property
    def problems(self) -> Counter[str]:
        """How often each kind of fault was found."""
        of_parts = [problem for one in self.parts for problem in one.problems]
        return Counter(problem.kind for problem in of_parts)


def read(root: Path, progress: Callable[[int], None] | None = None) -> ImportedData:
    """Read and check everything below ``root`` before anything is written.

    ``progress`` is told how many ontologies are read. Raises
    :class:`~kgbench.errors.ImportRefused`.
    """
    found = []
    for collection, name in text2kgbench.parts(root):
        found.append(_part(root, text2kgbench.read_part(root, collection, name)))
        if progress is not None:
            progress(len(found))
    sets = [s for collection in text2kgbench.COLLECTIONS for s in response_sets(root, collection)]
    places = {(one.part.collection, one.part.name): one for one in found}
    for responses in sets:
        for name, given in responses.responses.items():
            place = places.get((responses.collection, name))
            if place is not None:
                place.problems += _of_responses(place, responses, given)
    return ImportedData(tuple(found), tuple(sets))


def write_catalogue(store: Store, data: ImportedData) -> int:
    """Write ontologies, tasks, cases and problems, an ontology at a time; how many cases."""
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
    return sum(len(one.by_uid) for one in data.parts)


def runs(root: Path, data: ImportedData, iris: Iris) -> Iterator[ImportedRun]:
    """The stored responses as runs: one for each model, collection and split."""
    for responses in data.sets:
        parts = {
            one.part.name: one for one in data.parts if one.part.collection == responses.collection
        }
        run = _Conversion(root, iris, responses, parts).run()
        if run.items:
            yield run


def _part(root: Path, part: Part) -> ImportedPart:
    one = ImportedPart(part, problems=[*problems(part), *differences(root, part)])
    for split in ("test", "unseen"):
        if getattr(part, split):
            task = one.tasks[split] = part_task(part, split)
            one.cases[split] = part_cases(task, SUITE, part)
    return one


def _with_verified(one: ImportedPart) -> dict[str, list[Case]]:
    verified = [case for case in one.cases.get("test", ()) if case.uid in one.part.verified]
    return {**one.cases, "verified": verified}


def _of_responses(
    one: ImportedPart, responses: ResponseSet, given: list[Response]
) -> Iterator[Problem]:
    ids = {response.id for response in given}
    yield from (problem for problem in responses.problems if problem.about in ids)
    asked = {str(case.uid) for case in one.cases.get(responses.split, ())}
    where = f"{responses.model}, {responses.split}"
    if missing := len(asked - ids):
        yield Problem("missing-response", one.part.ontology.id, f"{missing} of {where}")
    for unknown in sorted(ids - asked):
        yield Problem("unknown-response-id", unknown, where)


class _Conversion:
    """Converts one set of responses."""

    def __init__(
        self, root: Path, iris: Iris, responses: ResponseSet, parts: dict[str, ImportedPart]
    ) -> None:
        self._root = root
        self._iris = iris
        self._set = responses
        self._parts = {
            name: parts[name]
            for name in responses.responses
            if name in parts and responses.split in parts[name].tasks
        }
        self._source = f"Text2KGBench {responses.collection} {responses.model} {responses.split}"
        self._run_id = id_from(f"{self._source}/{responses.digest}")
        self._pass_id = id_from(f"{self._run_id}/published")
        self._recorder = Recorder(iris, self._run_id, self._pass_id)
        iri = iris.mint("model", model=slug(responses.model))
        name = responses.model
        self._model = ModelSetup(iri=iri, label=name, connector="", model_id=name, spec=name)
        self._metrics = catalogue.metric_iris(text2kg.NAME)

    def run(self) -> ImportedRun:
        split = self._set.split
        items = [item for name in self._parts for item in self._items(name)]
        tasks = {one.tasks[split].iri: one.tasks[split] for one in self._parts.values()}
        return ImportedRun(
            source=self._source,
            digest=self._set.digest,
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
            items=tuple(items),
        )

    def _items(self, name: str) -> Iterator[tuple[Dialogue, tuple[Evaluation, ...]]]:
        one = self._parts[name]
        task, split = one.tasks[self._set.split], self._set.split
        cases = {str(case.uid): case for case in one.cases[split]}
        prompts = self._prompts(one.part) if split == "test" else {}
        known = [response for response in self._set.responses[name] if response.id in cases]
        for iteration, response in enumerate(known):
            case = cases[response.id]
            dialogue = self._dialogue(task, case, iteration, response, prompts)
            yield dialogue, self._evaluations(dialogue, response)

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
        scores = {self._metrics[name]: value for name, value in response.metrics.items()}
        return (
            Evaluation(
                iri=self._recorder.evaluation_iri(dialogue.iri, 0),
                dialogue=dialogue.iri,
                round=0,
                outcome=text2kg.outcome(response.text, response.facts),
                scores=scores,
                infos={"facts": [list(fact) for fact in response.facts]},
            ),
        )

    def _prompts(self, part: Part) -> dict[str, str]:
        """The published prompts by sentence id, where they are among the data."""
        folder = self._root / part.collection / "baselines" / "prompts"
        path = folder / f"{part.ontology.id}_prompts.jsonl"
        if not path.is_file():
            return {}
        return {
            lines.word(record, "id", path, n): lines.word(record, "prompt", path, n)
            for n, record in lines.records(path)
        }
