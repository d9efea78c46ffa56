# SPDX-License-Identifier: Apache-2.0
"""The tables of the Text2KGBench paper are computed from the store beside the printed numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.analysis.leaderboard import printed_rows
from kgbench.cli import app
from kgbench.importers import text2kgbench
from kgbench.importers.load import load
from kgbench.plugins.papers import text2kg
from kgbench.scores.selection import Selection, select
from kgbench.store.embedded import EmbeddedStore
from tests.support import text2kg_data
from tests.support.analysis_store import small

SHORT = text2kg.METRICS


def imported(folder: Path, store: EmbeddedStore) -> Selection:
    """Import everything in ``folder`` into ``store`` and select the published scores."""
    found = text2kgbench.read(folder)
    text2kgbench.write_catalogue(store, found)
    for run in text2kgbench.runs(folder, found, store.iris):
        load(store, run)
    return select(store)


def test_sizes_of_the_ontologies(tmp_path: Path) -> None:
    """Table 1 counts concepts, relations and sentences like the paper."""
    with EmbeddedStore(None) as store:
        chosen = imported(text2kg_data.write(tmp_path), store)
        table = text2kg.ontologies(store, chosen)
    (row,) = table.rows
    sentences = len(text2kg_data.TRAIN) + len(text2kg_data.TRUTH)
    assert row == ("wikidata_tekgen", "bridge", 3, 4, sentences, None, None, None)


def test_sentences_without_answer_count_nothing(tmp_path: Path) -> None:
    """Tables 2 and 3 divide by all sentences; relation hallucination is 1 minus conformance."""
    with EmbeddedStore(None) as store:
        chosen = imported(text2kg_data.write(tmp_path), store)
        each = text2kg.per_ontology(store, chosen).records()
        table = text2kg.overview(store, chosen)
    by_split = {row["split"]: row for row in each}
    assert by_split["test"]["answered"] == 3
    assert by_split["test"]["f1"] == 1 / 4
    assert by_split["test"]["onto_conf"] == 3 / 4
    assert by_split["test"]["rel_halluc"] == 1 / 4
    assert by_split["verified"]["f1"] == 1.0
    assert [row["f1"] for row in table.records()] == [1 / 4, 1.0]
    assert any("1 sentences without a scored answer" in note for note in table.notes)


def test_what_the_paper_prints_stands_below(tmp_path: Path) -> None:
    """A model and an ontology of the paper also have its printed rows, and others do not."""
    model, ontology = "Vicuna-13B", "movie"
    folder = text2kg_data.write(tmp_path / "data")
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("_bridge", f"_{ontology}"), encoding="utf-8")
        name = path.name.replace("_bridge", f"_{ontology}").replace("Parrot-1B", model)
        path.rename(path.with_name(name))
    with EmbeddedStore(None) as store:
        chosen = imported(folder, store)
        of_ontologies = text2kg.per_ontology(store, chosen).records()
        means = text2kg.overview(store, chosen).records()
    (row,) = (r for r in of_ontologies if r["source"] == "paper")
    (expected,) = (
        [float(r[metric]) for metric in SHORT]
        for r in printed_rows("text2kg-table-3")
        if r["ontology"] == ontology
    )
    assert (row["split"], row["ontology"], row["answered"]) == ("test", ontology, None)
    assert [row[metric] for metric in SHORT] == expected
    found = {r["split"]: [r[m] for m in SHORT] for r in means if r["source"] == "paper"}
    averages = {
        r["split"]: [float(r[metric]) for metric in SHORT]
        for r in printed_rows("text2kg-table-2")
        if (r["collection"], r["model"]) == ("wikidata_tekgen", model)
    }
    assert found == {split: averages[split] for split in ("test", "verified")}


def test_nothing_is_noted_where_all_is_answered(tmp_path: Path) -> None:
    """If every sentence has a scored answer, there is no note about missing ones."""
    folder = text2kg_data.write(tmp_path)
    lists = folder / "wikidata_tekgen/baselines/Parrot-1B"
    for name in (
        "llm_responses/ont_1_bridge_llm_responses.jsonl",
        "eval_metrics/ont_1_bridge_llm_stats.jsonl",
    ):
        with (lists / name).open("r+", encoding="utf-8") as stream:
            last = json.loads(stream.read().splitlines()[-1]) | {"id": text2kg_data.test_id(3)}
            stream.write(json.dumps(last) + "\n")
    with EmbeddedStore(None) as store:
        chosen = imported(folder, store)
        table = text2kg.overview(store, chosen)
        answered = text2kg.per_ontology(store, chosen).column("answered")
    assert (table.notes, answered) == ((), [4, 1])


def test_command_line(tmp_path: Path) -> None:
    """The command prints every table by its name."""
    folder, store = text2kg_data.write(tmp_path / "data"), str(tmp_path / "store")
    CliRunner().invoke(
        app, ["import", "text2kgbench", str(folder), "--store", store], catch_exceptions=False
    )
    for name in text2kg.TABLES:
        arguments = ["analyze", "text2kg", "--table", name, "--store", store, "--json"]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert "Text2KGBench" in json.loads(result.stdout)["title"]


@pytest.mark.parametrize("table", text2kg.PaperTable)
def test_a_store_without_the_data_set_names_its_importer(table: text2kg.PaperTable) -> None:
    """Each table says why it is empty, and what fills it."""
    made = text2kg.text2kg(small(), select(small()), table=table)
    assert not made.rows
    assert [made.reason] == list(made.notes)
    assert made.reason is not None
    assert "'kgbench import text2kgbench DIR'" in made.reason
