# SPDX-License-Identifier: Apache-2.0
"""Questions about generated worlds on variants: right queries hold, written-out values fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.execution import on_variants
from kgbench.execution.on_variants import VariantOutcome, Variants
from kgbench.model import Case
from kgbench.tasks import catalogue, typed_answers
from kgbench.variants.kinds import VariantKind
from kgbench.variants.rules import NO_RULES
from tests.variants.test_judging import EXECUTOR, values_of

TASKS = {
    label: task
    for label, task in catalogue.labelled_tasks().items()
    if task.task_class == "Text2SparqlWorld"
}
MODULE = catalogue.module("Text2SparqlWorld")
KINDS = (VariantKind.SHUFFLED, VariantKind.DOUBLED)
RIGHT = {VariantOutcome.HOLDS, VariantOutcome.TIE}


def question(label: str, seed: int, place: int = 0) -> Case:
    """Return a question about a world with two variants of each of two kinds."""
    case = MODULE.cases(TASKS[label], "suite", seed, place + 1)[place]
    named = on_variants.named_instances(case, MODULE, NO_RULES)
    return on_variants.with_variants(case, Variants(2, 1, KINDS, tuple(sorted(named))))


def outcome(case: Case, query: str) -> str:
    """Return the outcome of a query on variants."""
    verdict = on_variants.judge(case, [f"```sparql\n{query}\n```"], EXECUTOR, MODULE)
    return str(verdict.infos["variantOutcome"])


def rewritten(case: Case) -> list[str]:
    """Return equivalents of the reference query: renamed, nested, and with redundant parts."""
    query = case.data["refSparql"]
    renamed = re.sub(r"\?(\w+)", r"$other_\1", query)
    ways = [renamed, f"# ?s ?p ?o\n{query}", query.replace("{", "{ FILTER(1 = 1) ", 1)]
    if not case.data["ordered"]:
        ways += [f"SELECT * {{ {{ {query} }} }}", f"SELECT * {{ {{ {renamed} }} BIND(1 AS ?one) }}"]
    return ways


@pytest.mark.parametrize("label", TASKS)
def test_references_hold_and_values_are_constant(label: str) -> None:
    """On every level a right query holds, and a query that writes its result out is constant."""
    case = question(label, 5, 2)
    result = EXECUTOR.results(
        case.data["refSparql"],
        typed_answers.graph_of(case, MODULE),
        typed_answers.prefixes_of(case, MODULE),
    )
    assert outcome(case, case.data["refSparql"]) in RIGHT
    assert outcome(case, values_of(result)) == VariantOutcome.CONSTANT


@given(st.sampled_from(sorted(TASKS)), st.integers(0, 10_000), st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_right_queries_hold_however_they_are_written(label: str, seed: int, place: int) -> None:
    """Over worlds of any seed, equivalent forms of a right query hold on all variants."""
    case = question(label, seed, place)
    for query in rewritten(case):
        assert outcome(case, query) in RIGHT, query


def test_stored_answers_about_worlds_are_judged(tmp_path: Path) -> None:
    """The command judges recorded answers about worlds on variants; the oracle holds everywhere."""
    store = ["--store", str(tmp_path / "store")]
    models = ["-m", "baseline:oracle", "-m", "baseline:silent"]
    asked = ["-t", "Text2SparqlWorld-*-3", "-n", "2"]
    run = CliRunner().invoke(app, ["run", *models, *asked, *store], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    judged = CliRunner().invoke(
        app,
        ["reevaluate", "--variants", "2", "--seed", "1", "--json", *store],
        catch_exceptions=False,
    )
    found = json.loads(judged.stdout)["variants"]
    assert (found["baseline:oracle"]["exact"], found["baseline:oracle"]["failing"]) == (4, 0)
    assert found["baseline:silent"]["exact"] == 0
