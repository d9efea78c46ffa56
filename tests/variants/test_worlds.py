# SPDX-License-Identifier: Apache-2.0
"""Queries and updates of generated worlds on variants: right ones hold, written-out ones fail."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.execution import on_variants
from kgbench.execution.graph_changes import ADDED, REMOVED
from kgbench.execution.on_variants import VariantOutcome, Variants
from kgbench.model import Case
from kgbench.tasks import catalogue, graphs, typed_answers
from kgbench.variants import VariantKind
from kgbench.variants.rules import NO_RULES
from kgbench.worlds.writing import PREFIXES
from tests.support.commands import printed, reported
from tests.variants.test_judging import EXECUTOR, values_of

LABELLED = catalogue.labelled_tasks()
READING = [label for label, task in LABELLED.items() if task.task_class == "Text2SparqlWorld"]
WRITING = [
    label
    for label, task in LABELLED.items()
    if task.task_class in {"Text2UpdateWorld", "Text2ConstructWorld"} and "opaque" not in label
]
KINDS = (VariantKind.SHUFFLED, VariantKind.DOUBLED)
RIGHT = {VariantOutcome.HOLDS, VariantOutcome.TIE}


def exercise(label: str, seed: int, place: int) -> Case:
    """Return a case about a world with two variants of each of two kinds."""
    task = LABELLED[label]
    module = catalogue.module(task.task_class)
    case = module.cases(task, "suite", seed, place + 1)[place]
    named = on_variants.named_instances(case, module, NO_RULES)
    return on_variants.with_variants(case, Variants(2, 1, KINDS, tuple(sorted(named))))


def outcome(case: Case, text: str) -> str:
    """Return the outcome of a text on variants."""
    module = catalogue.module(case.task_class)
    verdict = on_variants.judge(case, [f"```sparql\n{text}\n```"], EXECUTOR, module)
    return str(verdict.infos["variantOutcome"])


def rewritten(case: Case) -> list[str]:
    """Return equivalents of the reference query: renamed, nested, and with redundant parts."""
    query = case.data["refSparql"]
    renamed = re.sub(r"\?(\w+)", r"$other_\1", query)
    ways = [renamed, f"# ?s ?p ?o\n{query}", query.replace("{", "{ FILTER(1 = 1) ", 1)]
    if not case.data["ordered"]:
        ways += [f"SELECT * {{ {{ {query} }} }}", f"SELECT * {{ {{ {renamed} }} BIND(1 AS ?one) }}"]
    return ways


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


@pytest.mark.parametrize("label", READING)
def test_references_hold_and_values_are_constant(label: str) -> None:
    """On every level a right query holds, and a query that writes its result out is constant."""
    case = exercise(label, 5, 2)
    module = catalogue.module(case.task_class)
    result = EXECUTOR.results(
        case.data["refSparql"],
        typed_answers.graph_of(case, module),
        typed_answers.prefixes_of(case, module),
    )
    assert outcome(case, case.data["refSparql"]) in RIGHT
    assert outcome(case, values_of(result)) == VariantOutcome.CONSTANT


@given(st.sampled_from(sorted(READING)), st.integers(0, 10_000), st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_right_queries_hold_however_they_are_written(label: str, seed: int, place: int) -> None:
    """Over worlds of any seed, equivalent forms of a right query hold on all variants."""
    case = exercise(label, seed, place)
    for query in rewritten(case):
        assert outcome(case, query) in RIGHT, query


@pytest.mark.parametrize("label", WRITING)
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


@pytest.mark.parametrize(
    ("tasks", "answers"),
    [
        (["Text2SparqlWorld-*-3"], 4),
        (["Text2UpdateWorld-natural-3", "Text2ConstructWorld-opaque-4"], 4),
    ],
    ids=["queries", "updates"],
)
def test_stored_answers_about_worlds_are_judged(tmp_path, tasks, answers) -> None:
    """The command judges recorded answers on variants; no policy compares what they write."""
    store = ("--store", tmp_path / "store")
    models = ("-m", "baseline:oracle", "-m", "baseline:silent")
    printed("run", *models, *(word for task in tasks for word in ("-t", task)), "-n", 2, *store)
    found = reported("reevaluate", "--variants", 2, "--seed", 1, *store)["variants"]
    best = found["baseline:oracle"]
    assert (best["exact"], best["failing"]) == (answers, 0)
    assert found["baseline:silent"]["exact"] == 0
    if "Text2UpdateWorld-natural-3" in tasks:
        said = printed("reevaluate", "--policy", "rows", *store)
        assert "answers to Text2UpdateWorld write triples, which no policy compares" in said
