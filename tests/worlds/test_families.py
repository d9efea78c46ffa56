# SPDX-License-Identifier: Apache-2.0
"""All generated families of tasks: the same everywhere, and right whatever is drawn.

What only one family has is tested in its own file; ``tests/golden`` has digests of its cases.
"""

from __future__ import annotations

import pytest

from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.judging import PlainExecutor
from tests.support.families import cases, generated

#: Fields that differ in all cases of a labelled task, beside the prompt.
DIFFERENT = {
    "JsonLdContextWorld": "document",
    "JsonLdFrameWorld": "tree",
    "Text2ConstructWorld": "question",
    "Text2UpdateWorld": "question",
}
WITH_TOOLS = "Text2SparqlToolsWorld"  # answered in dialogues: tests/plugins/agents/test_worlds.py
MANY = 60  # cases of a labelled task


@pytest.mark.parametrize(
    "label", [one for name, labels in generated().items() if name != WITH_TOOLS for one in labels]
)
def test_references_are_right_and_silence_is_not(label):
    """Many cases differ and hide their answers; references are best in all scores, silence last."""
    task_class = catalogue.task_class(catalogue.labelled_tasks()[label].task_class)
    name, metrics = task_class.name, task_class.answer_metrics
    main = task_class.main_metric.removeprefix("max_")
    module, executor, found = catalogue.module(name), PlainExecutor(), cases(label, MANY)
    assert len({case.iri for case in found}) == MANY
    assert len({module.prompt(case) for case in found}) == MANY
    assert name not in DIFFERENT or len({case.data[DIFFERENT[name]] for case in found}) == MANY
    for case in found:
        reference = module.reference(case)
        lines = [one for one in reference.split("\n") if one and not one.startswith(("```", "@"))]
        assert len(lines) == 1 or "\n".join(lines) not in module.prompt(case)
        assert not [*checks.faults_of_prompt(module, case)]
        right, silent = (module.judge(case, [said], executor) for said in (reference, ""))
        assert (right.outcome, right.next_prompt) == (Outcome.SCORED, None), case.data
        assert main in right.scores
        for metric, score in right.scores.items():
            assert checks.is_best(metrics[metric], score), (metric, case.data)
        assert silent.outcome is Outcome.EMPTY
        assert bool(silent.next_prompt) == (task_class.max_rounds > 1)
        # In twins, as in published tasks, silence may have full precision.
        lowest = [main] if name.endswith("Twin") else silent.scores
        assert {silent.scores[metric] for metric in lowest} == {0.0}, case.data
