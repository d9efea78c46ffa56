# SPDX-License-Identifier: Apache-2.0
"""Judging of imported dialogues without published scores."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator

from kgbench import clock
from kgbench.evaluation import evaluations
from kgbench.execution.dialogues import judge_dialogues
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.importers.llm_kg_bench import ImportedRun
from kgbench.importers.load import is_registered
from kgbench.record.recorder import Recorder
from kgbench.software import this_software
from kgbench.store.iris import id_from
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue


def judge_unjudged(
    store: Store, run: ImportedRun, executor: concurrent.futures.Executor, limits: JudgeLimits
) -> int:
    """Judge the dialogues of an imported run that have no published scores, in a separate pass.

    The run must be in the store. Returns the number of new scores, or 0 if the store already has
    the pass. An interrupted pass leaves nothing visible.
    """
    recorder = Recorder(store.iris, run.run_id, id_from(f"{run.run_id}/import"))
    if not run.unjudged or is_registered(store, recorder):
        return 0
    classes = {task.iri: catalogue.task_class(task.task_class) for task in run.tasks.values()}
    started, scores = clock.now(), 0

    def blocks() -> Iterator[Block]:
        nonlocal scores
        for dialogue, verdicts in judge_dialogues(run.unjudged, executor, limits):
            judged_evaluations = evaluations(
                classes[dialogue.task], dialogue, verdicts, recorder.evaluation_iri
            )
            scores += sum(len(evaluation.scores) for evaluation in judged_evaluations)
            yield from (recorder.evaluation_block(each, dialogue) for each in judged_evaluations)

    store.drop([recorder.pass_graph])
    store.bulk_load(blocks())
    software = this_software()
    pass_blocks = recorder.pass_blocks(
        kind="import",
        started=started,
        ended=clock.now(),
        agent=software.iri(store.iris),
        engine=engine_label(limits.engine),
    )
    store.write([Block(store.iris.catalogue, software.entry(store.iris)), *pass_blocks])
    return scores
