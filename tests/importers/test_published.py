# SPDX-License-Identifier: Apache-2.0
"""The published result files of three generations are imported completely."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgbench.importers.archives import ResultFile, open_results
from kgbench.importers.llm_kg_bench import ImportedRun, read_runs
from kgbench.importers.load import load
from kgbench.model import Outcome
from kgbench.store import Iris, open_store
from kgbench.vocab import KGB

pytestmark = pytest.mark.external


def files(external_data: Path, generation: int) -> Iterator[ResultFile]:
    """Return the result files of one generation."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    folder = external_data / f"llm-kg-bench-v{generation}"
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.zip")]):
        yield from open_results(path, passwords.get(folder.name))


def gone_through(runs: list[ImportedRun]) -> list[ImportedRun]:
    """Return ``runs``, read to the end so that their tasks, cases and models are known."""
    for run in runs:
        assert len(list(run.items)) == len(run.items)
    return runs


@pytest.fixture(scope="module")
def published(external_data: Path) -> dict[int, list[tuple[ResultFile, ImportedRun]]]:
    """Return every published run with its file, by generation."""
    return {
        generation: [
            (file, run)
            for file in files(external_data, generation)
            for run in gone_through(read_runs(file, Iris()))
        ]
        for generation in (1, 2, 3)
    }


def expected_scores(record: dict[str, Any]) -> Counter[tuple[int | None, str, float]]:
    """Return the published scores of a record: round, name, value."""
    found: Counter[tuple[int | None, str, float]] = Counter()
    for group, values in record["scores"].items():
        if not isinstance(values, dict):
            found[0, group, float(values)] += 1
            continue
        for name, value in values.items():
            if group.isdecimal():
                found[int(group), name, float(value)] += 1
            else:
                found[None, f"{group}_{name}", float(value)] += 1
    return found


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_no_score_and_no_text_is_lost(
    published: dict[int, list[tuple[ResultFile, ImportedRun]]], generation: int
) -> None:
    """Every published score and text is recovered, dialogue by dialogue."""
    for file, run in published[generation]:
        for (dialogue, found), record in zip(run.items, file.records(), strict=True):
            scores = Counter(
                (e.round, iri.rpartition("/")[2], value)
                for e in found
                for iri, value in e.scores.items()
            )
            assert scores == expected_scores(record)
            texts = [text for turn in dialogue.turns for text in (turn.prompt, turn.answer)]
            assert texts == [text for _, _, text in record["interactions"]]


def test_third_generation_counts(
    published: dict[int, list[tuple[ResultFile, ImportedRun]]],
) -> None:
    """The four archives have 2,080 dialogues of four models in 26 labels, about 82 shared cases."""
    runs = [run for _, run in published[3]]
    assert [len(run.items) for run in runs] == [520] * 4
    assert len({task.label for run in runs for task in run.tasks.values()}) == 26
    assert len({iri for run in runs for iri in run.cases}) == 82
    assert len({iri for run in runs for iri in run.models}) == 4
    assert {run.software.commit[:8] for run in runs if run.software.commit} == {"5f8a6c66"}
    assert sum(len(e.scores) for run in runs for _, es in run.items for e in es) == 33_104
    assert all(
        turn.feedback is not None
        for run in runs
        for dialogue, _ in run.items
        for turn in dialogue.turns[1:]
    )
    graphs = {
        case.uid: len(case.data["graph"].splitlines()) > 100
        for run in runs
        for case in run.cases.values()
        if case.task_class == "Text2SparqlExecEvalListCoypuMini"
    }
    assert len(graphs) == 5
    assert all(graphs.values())


def test_second_generation_counts(
    published: dict[int, list[tuple[ResultFile, ImportedRun]]],
) -> None:
    """The archive of 2024 has 900 dialogues of nine models in two labels, and ten shared cases."""
    runs = [run for _, run in published[2]]
    assert (len(runs), sum(len(run.items) for run in runs)) == (9, 900)
    assert len({task.label for run in runs for task in run.tasks.values()}) == 2
    assert len({iri for run in runs for iri in run.cases}) == 10
    assert len({iri for run in runs for iri in run.models}) == 9


def test_first_generation_counts(
    published: dict[int, list[tuple[ResultFile, ImportedRun]]],
) -> None:
    """The files of 2023 have 800 dialogues, with sizes, and one model in two spellings."""
    runs = [run for _, run in published[1]]
    assert (len(runs), sum(len(run.items) for run in runs)) == (13, 800)
    labels = Counter(
        task.task_class
        for task in {iri: t for run in runs for iri, t in run.tasks.items()}.values()
    )
    assert labels == {
        "FactExtractStatic": 1,
        "SyntheticDatasetGeneration": 8,
        "TurtleConnectionExplainStatic": 1,
        "TurtleErrorsStatic": 1,
        "TurtleFriendCount": 8,
    }
    assert len({iri for run in runs for iri in run.cases}) == 19
    spellings = {
        name
        for run in runs
        for model in run.models.values()
        if model.setup.model_id == "claude-1.3-100k"
        for name in model.source_ids
    }
    assert len(spellings) == 2
    empty = [e for run in runs for _, found in run.items for e in found]
    assert sum(e.outcome is Outcome.EMPTY for e in empty) == 20
    (errors,) = (
        case
        for run in runs
        for case in run.cases.values()
        if case.task_class == "TurtleErrorsStatic"
    )
    assert errors.data["optimal"]


def test_archives_load_into_a_store(
    published: dict[int, list[tuple[ResultFile, ImportedRun]]], tmp_path: Path
) -> None:
    """The store has 2,080 dialogues and 33,104 scores, and a second import adds nothing."""
    with open_store(str(tmp_path / "store")) as store:
        for _, run in published[3]:
            assert not load(store, run).already_there
        counts = {
            "dialogues": f"SELECT (COUNT(?d) AS ?n) {{ GRAPH ?g {{ ?d a <{KGB.Dialogue}> }} }}",
            "scores": (
                "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?e ?m ?v } "
                f"GRAPH <{store.iris.catalogue}> {{ ?m a <{KGB.Metric}> }} }}"
            ),
            "quads": "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }",
        }

        def count() -> dict[str, int]:
            return {
                name: int(next(iter(store.query(text)))["n"].value) for name, text in counts.items()
            }

        before = count()
        assert (before["dialogues"], before["scores"]) == (2_080, 33_104)
        for _, run in published[3]:
            assert load(store, run).already_there
        assert count() == before
