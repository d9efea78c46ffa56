# SPDX-License-Identifier: Apache-2.0
"""Import of Text2KGBench: ontologies, tasks, cases and problems, and stored responses as runs.

Each set of stored responses becomes a run with the published metrics as its evaluation pass. No
times are published: the day on which the data were last changed is recorded. Prompts that are not
published are reconstructed in the wording of published ones; if the data have none, the recorded
prompt says that it is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from kgbench.datasets import text2kgbench, text2kgbench_prompts
from kgbench.datasets.text2kgbench import Part
from kgbench.families import frame, text2kg
from kgbench.importers import text2kgbench_catalogue as catalogue_lines
from kgbench.importers.llm_kg_bench import ImportedRun
from kgbench.importers.published_runs import PublishedRun, published_model
from kgbench.importers.text2kgbench_catalogue import (
    SUITE,
    Problem,
    ontology_iri,
    part_task,
    problems,
    turtle_differences,
)
from kgbench.importers.text2kgbench_responses import (
    OntologyResponses,
    Response,
    ResponseSet,
    response_sets,
    unread_files,
)
from kgbench.model import Call, Case, Dialogue, Evaluation, Reply, Task, Turn
from kgbench.on_demand import Repeatable
from kgbench.scoring.facts import parse
from kgbench.software import Software
from kgbench.store.iris import Iris
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue

LAST_CHANGED = datetime(2024, 5, 6, tzinfo=UTC)
"""When the published data were last changed; recorded because no times are published."""
NO_PROMPT = "(The prompt of this response is not among the imported data.)"

_SOFTWARE = Software("Text2KGBench", "1", "50a3d255")


@dataclass
class ImportedPart:
    """An ontology with its tasks and cases, by split, and its problems.

    ``responses`` are the stored responses to its cases, by model and split.
    """

    part: Part
    tasks: dict[str, Task] = field(default_factory=dict)
    cases: dict[str, list[Case]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    responses: dict[tuple[str, str], list[Response]] = field(default_factory=dict)

    @property
    def by_uid(self) -> dict[str, Case]:
        """The cases by the id of their sentence."""
        return {str(case.uid): case for cases in self.cases.values() for case in cases}


@dataclass(frozen=True)
class ImportedData:
    """The content of a folder of Text2KGBench data; ``unread`` are files by collection."""

    parts: list[ImportedPart]
    sets: tuple[ResponseSet, ...]
    unread: Mapping[str, list[Problem]]

    @property
    def problems(self) -> Counter[str]:
        """The number of problems of each kind."""
        of_parts = (imported.problems for imported in self.parts)
        return Counter(
            problem.kind for problem in chain.from_iterable([*of_parts, *self.unread.values()])
        )


def read(root: Path, progress: Callable[[int], None] | None = None) -> ImportedData:
    """Read and check all data below ``root``; nothing is written.

    ``progress`` is called with the number of ontologies read so far. Raises
    :class:`~kgbench.errors.ImportRefused`.
    """
    collections_and_names = text2kgbench.parts(root)
    sets = [s for collection in text2kgbench.COLLECTIONS for s in response_sets(root, collection)]
    for responses in sets:
        for name in responses.files:
            if (responses.collection, name) not in collections_and_names:
                responses.read_ontology(name)  # refuses damaged responses without an ontology, too
    unread = {}
    for collection in text2kgbench.COLLECTIONS:
        names_in = [name for other, name in collections_and_names if other == collection]
        if problems_in := list(unread_files(root, collection, names_in)):
            unread[collection] = problems_in
    parts = []
    for collection, name in collections_and_names:
        part_sets = [s for s in sets if s.collection == collection and name in s.files]
        parts.append(_read_part(root, collection, name, part_sets))
        if progress is not None:
            progress(len(parts))
    return ImportedData(parts, tuple(sets), unread)


def write_catalogue(store: Store, data: ImportedData) -> int:
    """Write all ontologies, tasks, cases and problems; return the number of cases."""
    number = 0
    for imported in data.parts:
        iris, uids = store.iris, imported.by_uid
        content = [
            *catalogue_lines.ontology_lines(iris, imported.part, _with_verified(imported)),
            *catalogue_lines.entries(iris, imported.tasks.values(), uids.values()),
            *catalogue_lines.problem_lines(
                iris,
                imported.part.collection,
                imported.problems,
                ontology_iri(imported.part),
                {uid: case.iri for uid, case in uids.items()},
            ),
        ]
        store.write([Block(iris.catalogue, content)])
        number += len(uids)
    for collection, unread in data.unread.items():
        subject = catalogue_lines.dataset_iri(store.iris, collection)
        content = [*catalogue_lines.problem_lines(store.iris, collection, unread, subject)]
        store.write([Block(store.iris.catalogue, content)])
    return number


def runs(root: Path, data: ImportedData, iris: Iris) -> Iterator[ImportedRun]:
    """Convert the stored responses to runs, one for each model, collection and split."""
    for responses in data.sets:
        run = _Conversion(root, iris, responses, data.parts).run()
        if run.items:
            yield run


def _read_part(root: Path, collection: str, name: str, sets: Iterable[ResponseSet]) -> ImportedPart:
    part = text2kgbench.read_part(root, collection, name)
    imported = ImportedPart(part, problems=[*problems(part), *turtle_differences(root, part)])
    for split in ("test", "unseen"):
        if getattr(part, split):
            task = imported.tasks[split] = part_task(part, split)
            imported.cases[split] = list(text2kg.part_cases(task, SUITE, part))
    for responses in sets:
        answers = responses.read_ontology(name)
        ids = {str(case.uid) for case in imported.cases.get(responses.split, ())}
        imported.problems += _response_problems(part, responses, answers, ids)
        imported.responses[responses.model, responses.split] = [
            response for response in answers.responses if response.id in ids
        ]
    return imported


def _with_verified(imported: ImportedPart) -> dict[str, list[Case]]:
    verified = [
        case for case in imported.cases.get("test", ()) if case.uid in imported.part.verified
    ]
    return {**imported.cases, "verified": verified}


def _response_problems(
    part: Part, responses: ResponseSet, answers: OntologyResponses, case_ids: set[str]
) -> Iterator[Problem]:
    ids = {response.id for response in answers.responses}
    yield from answers.problems
    where = f"{responses.model}, {responses.split}"
    if missing := len(case_ids - ids):
        yield Problem("missing-response", part.ontology.id, f"{missing} of {where}")
    for unknown in sorted(ids - case_ids):
        yield Problem("unknown-response-id", unknown, where)


class _Conversion:
    """Converts one set of responses."""

    def __init__(
        self, root: Path, iris: Iris, responses: ResponseSet, parts: Iterable[ImportedPart]
    ) -> None:
        self._root = root
        self._set = responses
        by_name = {
            imported.part.name: imported
            for imported in parts
            if imported.part.collection == responses.collection
            and responses.split in imported.tasks
        }
        self._parts = [by_name[name] for name in responses.files if name in by_name]
        name = responses.model
        self._run = PublishedRun(
            iris,
            SUITE,
            published_model(iris, name),
            _SOFTWARE,
            source=f"Text2KGBench {responses.collection} {name} {responses.split}",
            content=responses.digest(),
        )
        self._metrics = catalogue.metric_iris("Text2KG")
        self._wording = text2kgbench_prompts.wording(root, responses.collection, responses.split)

    def run(self) -> ImportedRun:
        key = self._set.model, self._set.split
        known = [response for imported in self._parts for response in imported.responses[key]]
        unjudged = sum(response.metrics is None for response in known)
        return self._run.imported(
            [part.tasks[self._set.split] for part in self._parts],
            (),  # write_catalogue has written the cases
            Repeatable(self._items, len(known)),
            started=LAST_CHANGED,
            ended=LAST_CHANGED,
            unjudged=Repeatable(self._unjudged, unjudged),
            is_judged=unjudged < len(known),
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
        for imported in self._parts:
            task = imported.tasks[split]
            cases = {str(case.uid): case for case in imported.cases[split]}
            prompts = self._prompts(imported.part, cases)
            for iteration, response in enumerate(imported.responses[self._set.model, split]):
                case = cases[response.id]
                dialogue = self._dialogue(task, case, iteration, response, prompts)
                yield dialogue, case, response

    def _dialogue(
        self, task: Task, case: Case, iteration: int, response: Response, prompts: dict[str, str]
    ) -> Dialogue:
        call = Call(LAST_CHANGED, LAST_CHANGED, Reply(response.text))
        return self._run.dialogue(
            task,
            case,
            iteration,
            [self._set.model, response.id, response.text],
            turns=(Turn(prompts.get(response.id, NO_PROMPT), (call,)),),
            started=LAST_CHANGED,
            ended=LAST_CHANGED,
        )

    def _evaluations(self, dialogue: Dialogue, response: Response) -> tuple[Evaluation, ...]:
        if response.metrics is None:
            return ()
        cleaning = response.cleaning or "none"
        facts = response.facts
        if facts is None:
            facts = parse(response.text, cleaning).triples
        scores = {self._metrics[name]: value for name, value in response.metrics.items()}
        outcome = frame.outcome(response.text, usable=bool(facts))
        infos = {"facts": [list(fact) for fact in facts], "cleaning": cleaning}
        return (self._run.evaluation(dialogue, 0, outcome, scores, infos, response.decimals),)

    def _prompts(self, part: Part, cases: Mapping[str, Case]) -> dict[str, str]:
        """Return prompts by sentence id: the published ones, else reconstructed ones."""
        published = text2kgbench_prompts.prompts(self._root, part, self._set.split)
        if self._wording is None:
            return published
        return {
            uid: text2kg.as_published(case, self._wording)
            for uid, case in cases.items()
            if case.data["examples"]
        } | published
