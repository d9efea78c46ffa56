# SPDX-License-Identifier: Apache-2.0
"""Runs that importers make of the dialogues that others published, one for each model or system."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun, Item
from kgbench.model import Case, Dialogue, Evaluation, Json, ModelSetup, Outcome, Task, Turn
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import Recorder
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.tasks import catalogue


class PublishedRun:
    """The run of one model, with a pass of published evaluations; makes its dialogues.

    ``source`` is its name, ``content`` a digest of everything that is read for it. ``identity``
    determines its IRIs, so that importing it again changes nothing; by default it is made of both.
    """

    def __init__(
        self,
        iris: Iris,
        suite: str,
        model: ModelSetup,
        software: Software,
        *,
        source: str,
        content: str,
        identity: str | None = None,
    ) -> None:
        self._suite = suite
        self._suite_iri = iris.mint("suite", suite=suite)
        self._model = model
        self._software = software
        self._source = source
        self._content = content
        self.id = id_from(identity or f"{source}/{content}")
        self._pass_id = id_from(f"{self.id}/published")
        self._recorder = Recorder(iris, self.id, self._pass_id)

    def dialogue(
        self,
        task: Task,
        case: Case,
        iteration: int,
        identity: Sequence[Json],
        *,
        turns: Sequence[Turn],
        started: datetime,
        ended: datetime | None,
        tool_protocol: str | None = None,
    ) -> Dialogue:
        """Return a dialogue; ``identity`` is what its digest is made of."""
        content = digest(canonical_json(list(identity)))
        execution = self._recorder.execution_iri(self._model.label, task.label)
        return Dialogue(
            iri=self._recorder.dialogue_iri(execution, iteration, content),
            run=self._recorder.run,
            model=self._model.iri,
            task=task.iri,
            suite=self._suite_iri,
            case=case.iri,
            iteration=iteration,
            digest=content,
            turns=tuple(turns),
            started=started,
            ended=ended,
            tool_protocol=tool_protocol,
        )

    def evaluation(  # noqa: PLR0917 - the parts of an evaluation
        self,
        dialogue: Dialogue,
        round_: int | None,
        outcome: Outcome,
        scores: Mapping[str, float],
        infos: Mapping[str, Json],
        decimals: int | None = None,
    ) -> Evaluation:
        """Return an evaluation of an answer, or of the dialogue; ``scores`` are by metric (IRI)."""
        return Evaluation(
            iri=self._recorder.evaluation_iri(dialogue.iri, round_),
            dialogue=dialogue.iri,
            round=round_,
            outcome=outcome,
            scores=scores,
            infos=infos,
            decimals=decimals,
        )

    def imported(
        self,
        tasks: Collection[Task],
        cases: Collection[Case],
        items: Collection[Item],
        *,
        started: datetime,
        ended: datetime,
        **others: Any,
    ) -> ImportedRun:
        """Return the run with its ``items``; ``others`` are further fields of an imported run."""
        versions = {case.iri: catalogue.task_class(case.task_class).version for case in cases}
        return ImportedRun(
            source=self._source,
            digest=self._content,
            generation=1,
            suite=self._suite,
            run_id=self.id,
            pass_id=self._pass_id,
            started=started,
            ended=ended,
            software=self._software,
            tasks={task.iri: task for task in tasks},
            cases={case.iri: case for case in cases},
            versions=versions,
            models={self._model.iri: ImportedModel(self._model, (self._model.model_id,))},
            undeclared_metrics={},
            items=items,
            **others,
        )


def published_model(iris: Iris, name: str) -> ModelSetup:
    """Return the model, or the system, that others have called by ``name``."""
    iri = iris.mint("model", model=slug(name))
    return ModelSetup(iri=iri, label=name, connector="", model_id=name, spec=name)
