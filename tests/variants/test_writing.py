# SPDX-License-Identifier: Apache-2.0
"""Updates and CONSTRUCT queries on variants: right ones hold, written-out triples fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.execution import on_variants
from kgbench.execution.graph_changes import ADDED, REMOVED
from kgbench.execution.on_variants import VariantOutcome, Variants
from kgbench.model import Case
from kgbench.tasks import catalogue, graphs
from kgbench.variants.kinds import VariantKind
from kgbench.variants.rules import NO_RULES
from kgbench.worlds.writing import PREFIXES
from tests.variants.test_judging import EXECUTOR

CLASSES = ("Text2UpdateWorld", "Text2ConstructWorld")
TASKS = {
    label: task
    for label, task in catalogue.labelled_tasks().items()
    if task.task_class in CLASSES and "opaque" not in label
}
KINDS = (VariantKind.SHUFFLED, VariantKind.DOUBLED)


def exercise(label: str, seed: int, place: int) -> Case:
    """Return a case about a world with two variants of each of two kinds."""
    task = TASKS[label]
    module = catalogue.module(task.task_class)
    case = module.cases(task, "suite", seed, place + 1)[place]
    named = on_variants.named_instances(case, module, NO_RULES)
    return on_variants.with_variants(case, Variants(2, 1, KINDS, tuple(sorted(named))))


def outcome(case: Case, text: str) -> str:
    """Return the outcome of a text on variants."""
    module = catalogue.module(case.task_class)
    verdict = on_variants.judge(case, [f"```sparql\n{text}\n```"], EXECUTOR, module)
    return str(verdict.infos["variantOutcome"])


def written_out(case: Case) -> str:
    """Return a text that writes the expected triples without reading the graph."""
    world = graphs.text(case.data["graphName"])
    rows = EXECUTOR.changes(case.data["refSparql"], world, PREFIXES).rows
    parts: dict[str, list[str]] = {REMOVED: [], ADDED: []}
    for change, *terms, graph in rows:
        triple = f"{' '.join(map(str, terms))} ."
        parts[str(change)].append(triple if graph is None else f"GRAPH {graph} {{ {triple} }}")
    removed, added = (" ".join(each) for each in parts.values())
    if case.task_class == "Text2ConstructWorld":
        return f"CONSTRUCT {{ {added} }} WHERE {{}}"
    return f"DELETE DATA {{ {removed} }} ;\nINSERT DATA {{ {added} }}"


@pytest.mark.parametrize("label", TASKS)
def test_references_hold_and_triples_written_out_are_told(label: str) -> None:
    """On every level equivalent forms of a right text hold; written-out triples are constant."""
    for place in (2, 3):
        case = exercise(label, 5, place)
        gold = case.data["refSparql"]
        for text in (gold, re.sub(r"\?(\w+)", r"$other_\1", gold), f"# {{ ?s }}\n{gold}"):
            assert outcome(case, text) == VariantOutcome.HOLDS, text
        assert outcome(case, written_out(case)) == VariantOutcome.CONSTANT


def test_what_is_wrong_on_the_world_is_not_run_on_variants() -> None:
    """A text that changes too much, or that cannot be executed, is wrong."""
    case = exercise("Text2UpdateWorld-natural-1", 5, 0)
    for text in (f"{case.data['refSparql']} ; CLEAR ALL", "DROP GRAPH t:nothing", "LOAD <urn:a>"):
        assert outcome(case, text) == VariantOutcome.WRONG


def test_stored_answers_are_judged_on_variants_and_by_no_policy(tmp_path: Path) -> None:
    """The command judges recorded answers on variants, and skips them under a policy."""
    store = ["--store", str(tmp_path / "store")]
    asked = ["-t", "Text2UpdateWorld-natural-3", "-t", "Text2ConstructWorld-opaque-4", "-n", "2"]
    run = CliRunner().invoke(
        app, ["run", "-m", "baseline:oracle", *asked, *store], catch_exceptions=False
    )
    assert run.exit_code == 0, run.output
    variants = ["reevaluate", "--variants", "2", "--seed", "1", "--json", *store]
    judged = CliRunner().invoke(app, variants, catch_exceptions=False)
    found = json.loads(judged.stdout)["variants"]["baseline:oracle"]
    assert (found["exact"], found["failing"], found["holds"]) == (4, 0, 4)
    policy = CliRunner().invoke(
        app, ["reevaluate", "--policy", "rows", *store], catch_exceptions=False
    )
    assert "answers to Text2UpdateWorld write triples, which no policy compares" in policy.output
