# SPDX-License-Identifier: Apache-2.0
"""Conversion of the TEXT2SPARQL challenge to runs, one for each system and set of questions.

A dialogue is a question in one language with the query that the system answered. The published
scores become the evaluation pass. The score ``set_F_ndcg`` of an answer is not published; as in
the challenge's client, it is ``ndcg`` if the order of the result matters, else ``set_F``. A
question without an answer becomes a failed call, because the client gave up on it. When systems
were asked is not published: the first day of the edition's year is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun, Item
from kgbench.model import (
    Call,
    Case,
    Dialogue,
    Evaluation,
    Json,
    ModelSetup,
    Outcome,
    Reply,
    Task,
    Turn,
)
from kgbench.on_demand import Repeatable
from kgbench.plugins.challenges import text2sparql_questions
from kgbench.plugins.challenges.text2sparql_files import Answer, SystemFiles
from kgbench.policies.policy import policy
from kgbench.rdf import canonical_json, digest, double, string
from kgbench.record.recorder import Recorder
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue
from kgbench.vocab import DCTERMS, DQV, RDF, SKOS

POLICY = "text2sparql-2025"
"""The comparison policy that defines the metrics of the published scores."""
NO_ANSWER = "no answer of the system is published: the challenge's client gave up asking"

SCORES = ("set_P", "set_recall", "set_F")
_FIRST_YEAR = 2025


def imported_run(files: SystemFiles, iris: Iris) -> ImportedRun:
    """Convert the published files of one system and set of questions to a run."""
    return _Conversion(files, iris).run()


class _Conversion:
    """Converts the files of one system."""

    def __init__(self, files: SystemFiles, iris: Iris) -> None:
        self._files = files
        self._iris = iris
        questions = files.questions.file
        year = questions.year
        self._edition = "TEXT2SPARQL" if year is None else f"TEXT2SPARQL {year}"
        self._suite = f"text2sparql-{questions.prefix if year is None else year}"
        self._time = datetime(year or _FIRST_YEAR, 1, 1, tzinfo=UTC)
        self._source = f"{self._edition} {questions.prefix} {files.system}"
        self._digest = files.digest()
        self._run_id = id_from(f"{self._source}/{self._digest}")
        self._pass_id = id_from(f"{self._run_id}/published")
        self._recorder = Recorder(iris, self._run_id, self._pass_id)
        self._metrics = policy(POLICY).metrics
        self._version = catalogue.task_class(text2sparql_questions.NAME).version
        self._model = _model(files, iris)
        self._tasks = {
            language: text2sparql_questions.task(questions.prefix, language)
            for language in questions.languages
        }
        self._cases = {
            key: text2sparql_questions.case(
                self._suite,
                self._tasks[language],
                questions,
                question,
                files.questions.gold.get(key),
            )
            for key, (question, language) in files.questions.keys.items()
        }

    def run(self) -> ImportedRun:
        """Return the run, which generates its dialogues at each iteration."""
        return ImportedRun(
            source=self._source,
            digest=self._digest,
            generation=1,
            suite=self._suite,
            run_id=self._run_id,
            pass_id=self._pass_id,
            started=self._time,
            ended=self._time,
            software=Software("TEXT2SPARQL", self._edition.partition(" ")[2] or "unknown"),
            tasks={task.iri: task for task in self._tasks.values()},
            cases={case.iri: case for case in self._cases.values()},
            versions={case.iri: self._version for case in self._cases.values()},
            models={self._model.iri: ImportedModel(self._model, (self._files.system,))},
            undeclared_metrics={},
            items=Repeatable(self._items, len(self._cases)),
            is_judged=True,
        )

    def _items(self) -> Iterator[Item]:
        counts: dict[str, int] = {}
        for key, (_, language) in self._files.questions.keys.items():
            iteration = counts[language] = counts.get(language, -1) + 1
            case, answer = self._cases[key], self._files.answers.get(key)
            dialogue = self._dialogue(self._tasks[language], case, iteration, answer)
            yield dialogue, self._evaluations(key, dialogue, answer)

    def _dialogue(self, task: Task, case: Case, iteration: int, answer: Answer | None) -> Dialogue:
        query = None if answer is None else answer.query
        dialogue_digest = digest(canonical_json([self._files.system, case.uid, query]))
        if answer is None:
            call = Call(self._time, self._time, failure=Outcome.PROVIDER_ERROR, error=NO_ANSWER)
        else:
            call = Call(self._time, self._time, Reply(answer.query))
        prompt = (answer.question if answer else "") or case.data["question"]
        return Dialogue(
            iri=self._recorder.dialogue_iri(
                self._files.system, task.label, iteration, dialogue_digest
            ),
            run=self._recorder.run,
            model=self._model.iri,
            task=task.iri,
            suite=self._iris.mint("suite", suite=self._suite),
            case=case.iri,
            iteration=iteration,
            digest=dialogue_digest,
            turns=(Turn(prompt, (call,)),),
            started=self._time,
            ended=None if answer is None else self._time,
        )

    def _evaluations(
        self, key: str, dialogue: Dialogue, answer: Answer | None
    ) -> tuple[Evaluation, ...]:
        # Infos are recorded in the published pass even if no scores were published.
        published = self._files.scores.get(key, {})
        if not published and (self._files.scores or answer is None):
            return ()
        scores = {name: published[name] for name in SCORES if name in published}
        if "set_F" in scores:
            scores["set_F_ndcg"] = published.get("ndcg", scores["set_F"])
        return (
            Evaluation(
                iri=self._recorder.evaluation_iri(dialogue.iri, 0),
                dialogue=dialogue.iri,
                round=0,
                outcome=_outcome(answer),
                scores={self._metrics[name].iri: value for name, value in scores.items()},
                infos=self._infos(key, answer),
            ),
        )

    def _infos(self, key: str, answer: Answer | None) -> dict[str, Json]:
        infos: dict[str, Json] = {}
        if answer is not None:
            infos["sparql"] = answer.query
            if answer.dataset and answer.dataset != self._files.questions.file.dataset:
                infos["dataset"] = answer.dataset
        if (ndcg := self._files.scores.get(key, {}).get("ndcg")) is not None:
            infos["ndcg"] = ndcg
        if (values := self._files.results.get(key)) is not None:
            infos["publishedResultSet"] = dict(values)
        elif self._files.copied:
            infos["publishedResultSetIsCopy"] = True
        return infos


def _outcome(answer: Answer | None) -> Outcome:
    if answer is None:
        return Outcome.PROVIDER_ERROR
    return Outcome.SCORED if answer.query.strip() else Outcome.EMPTY


def _model(files: SystemFiles, iris: Iris) -> ModelSetup:
    """Return the system, with its URL if all its answers name the same one."""
    name = files.system
    addresses = {answer.endpoint for answer in files.answers.values()}
    address = addresses.pop() if len(addresses) == 1 else ""
    return ModelSetup(
        iri=iris.mint("model", model=slug(name)),
        label=name,
        connector="",
        model_id=name,
        spec=name,
        base_url=address if address.startswith(("http://", "https://")) else None,
        is_system=True,
    )


def write_averages(store: Store, files: SystemFiles, run: ImportedRun) -> None:
    """Write the published means of one system into the catalogue; writing again changes nothing.

    They are recorded as measurements of the run, and are not computed from its answers.
    """
    recorder = Recorder(store.iris, run.run_id, run.pass_id)
    metrics = policy(POLICY).metrics
    content = []
    for (name, language), value in files.averages.items():
        full_name = f"{name}-{language}" if language else name
        node = f"<{recorder.evaluation_pass}/average/{full_name}>"
        content += [
            f"{node} <{RDF.type}> <{DQV.QualityMeasurement}> .",
            f"{node} <{SKOS.notation}> {string(name)} .",
            f"{node} <{DQV.computedOn}> <{recorder.run}> .",
            f"{node} <{DQV.value}> {double(value)} .",
        ]
        if name in metrics:
            content.append(f"{node} <{DQV.isMeasurementOf}> <{metrics[name].iri}> .")
        if language:
            content.append(f"{node} <{DCTERMS.language}> {string(language)} .")
    store.write([Block(store.iris.catalogue, content)])
