# SPDX-License-Identifier: Apache-2.0
"""The published facts are reproduced from the responses, however they were cleaned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import text2kgbench as dataset
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.families.text2kg import cleaned_case, part_cases
from kgbench.families.Text2KG.judge import family
from kgbench.importers import text2kgbench
from kgbench.importers.load import judge_unjudged, load
from kgbench.importers.text2kgbench_catalogue import part_task
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.scoring import stems
from kgbench.scoring.facts import CLEANINGS, cleanings_of, parse
from kgbench.store.embedded import EmbeddedStore
from tests.support import text2kg_data
from tests.support.reevaluating import reevaluate
from tests.support.validation import assert_conforms

TOP = "wikidata_tekgen/baselines"
RESPONSES = f"{TOP}/Parrot-1B/llm_responses/ont_1_bridge_llm_responses.jsonl"
VALUES = f"{TOP}/Parrot-1B/eval_metrics/ont_1_bridge_llm_stats.jsonl"
QUOTED = "spans(Larn Bridge, 'Ossel')"
PLAIN = "spans(Larn Bridge, Ossel)"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of invented data."""
    return text2kg_data.write(tmp_path / "data")


def stored(number: int, text: str, cleaning: str, **others: Any) -> dict[str, Any]:
    """Return a stored response whose facts were cleaned in one way."""
    triples = [list(triple) for triple in parse(text, cleaning).triples]
    return {"id": f"ont_1_bridge_test_{number}", "response": text, "triples": triples, **others}


def write(path: Path, *records: dict[str, Any]) -> None:
    """Write records as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def cleaned(folder: Path, *records: dict[str, Any]) -> tuple[list[str | None], list[str]]:
    """Return the cleaning of each response, and the ids whose facts differ from their texts."""
    write(folder / RESPONSES, *records)
    (responses,) = text2kgbench.read(folder).sets
    given = responses.read_ontology("bridge")
    odd = [one.subject for one in given.problems if one.kind == "facts-differ"]
    return [one.cleaning for one in given.responses], odd


@given(
    st.lists(st.sampled_from(["a(b, c)", "a( 'b', \"c\" )", "x", "r\\_s(d , e)"]), max_size=4),
    st.sampled_from(sorted(CLEANINGS)),
)
def test_the_cleaning_is_among_those_that_fit(lines: list[str], cleaning: str) -> None:
    """The cleanings found for facts are exactly those that give these facts."""
    answer = "\n".join(lines)
    triples = parse(answer, cleaning).triples
    fitting = cleanings_of(answer, triples)
    assert cleaning in fitting
    assert all((parse(answer, name).triples == triples) == (name in fitting) for name in CLEANINGS)


def test_a_file_has_one_cleaning_unless_a_line_says_otherwise(data: Path) -> None:
    """A line that fits several cleanings gets that of the file; any other line gets its own."""
    records = [
        stored(1, PLAIN, "strip"),  # fits strip and strip-quotes
        stored(2, QUOTED, "strip-quotes"),
        stored(3, PLAIN, "none"),
        stored(4, "nothing", "none"),  # fits all
    ]
    expected = ["strip-quotes", "strip-quotes", "none", "strip-quotes"]
    assert cleaned(data, *records) == (expected, [])


def test_facts_of_another_text_are_a_fault(data: Path) -> None:
    """Stored facts that no cleaning gives are a fault, and the file's cleaning is used."""
    odd = {**stored(2, PLAIN, "none"), "triples": [["x", "y", "z"]]}
    found = cleaned(data, stored(1, PLAIN, "strip"), odd)
    assert found == (["strip", "strip"], ["ont_1_bridge_test_2"])


def test_judging_again_uses_the_recorded_cleaning(data: Path) -> None:
    """Published values are reproduced for three cleanings, which each evaluation records."""
    texts = [QUOTED, QUOTED, PLAIN]
    kinds = ["strip-quotes", "none", "strip-quotes"]
    part = dataset.read_part(data, "wikidata_tekgen", "bridge")
    cases = part_cases(part_task(part, "test"), "s", part)
    records, values = [], []
    for k, (text, cleaning) in enumerate(zip(texts, kinds, strict=True)):
        record = stored(k + 1, text, cleaning)
        verdict = family.judge(cleaned_case(cases[k], cleaning), [text], NOTHING)
        records.append(record)
        values.append(
            {"id": record["id"], **{name: verdict.scores[name] for name in text2kg_data.NAMES}}
        )
    write(data / RESPONSES, *records)
    write(data / VALUES, *values)
    with EmbeddedStore(None) as store:
        found = text2kgbench.read(data)
        text2kgbench.write_catalogue(store, found)
        for imported in text2kgbench.runs(data, found, store.iris):
            load(store, imported)
        (run,) = reading.runs(store)
        with executor("local") as pool:
            again = reevaluate(store, run, pool, JudgeLimits())
            third = reevaluate(store, run, pool, JudgeLimits())
        assert_conforms(store)
        noted = [
            str(row["cleaning"].value)
            for row in store.query(
                "SELECT ?cleaning { GRAPH ?g { ?e <https://w3id.org/kgbench/ns#cleaning> ?cleaning "
                "; <https://w3id.org/kgbench/ns#iteration> ?k } } ORDER BY ?k"
            )
        ]
    for done in (again, third):
        changed = {
            difference["metric"]
            for dialogue in done.comparison.report()["dialogues_differing"]
            for difference in dialogue["differences"]
        }
        assert not changed & set(text2kg_data.NAMES)
    assert noted == [kind for kind in ("strip-quotes", "none", "strip-quotes") for _ in range(3)]


NOTHING: Any = None  # Text2KG parses nothing


def test_causes_are_computed(data: Path) -> None:
    """The cause is rounding, sentence splitting, another cleaning, or unexplained."""
    part = dataset.read_part(data, "wikidata_tekgen", "bridge")
    case = part_cases(part_task(part, "test"), "s", part)[0]
    split = cleaned_case(case, "none")
    split.data["sentence"] = "Larn Bridge makes Ossel happy. It is old."
    answer = "spans(Larn Bridge, happy)"
    with_splitter = {"obj_halluc": 0.0}
    assert family.judge(split, [answer], NOTHING).scores["obj_halluc"] == 1.0
    told = [
        family.explained(split, answer, with_splitter),
        family.explained(case, QUOTED, {"obj_halluc": 0.0}),
        family.explained(case, PLAIN, {"precision": 0.998}),
        family.explained(case, PLAIN, {"precision": 0.3}),
    ]
    assert [None if one is None else one.partition(":")[0] for one in told] == [
        *("sentence splitter", "cleaning", "rounding", None)
    ]


def test_irregular_words_are_those_in_lower_case() -> None:
    """As in NLTK 3.8.1, "sky" is irregular, and "Sky" is stemmed by the rules."""
    assert [stems.stemmed(word) for word in ("sky", "Sky", "Dying", "dying")] == [
        *("sky", "ski", "dy", "die")
    ]


def without_metrics(folder: Path) -> None:
    """Remove the published metrics, as in responses of others."""
    (folder / VALUES).unlink()


def test_responses_of_others_show_at_once(data: Path, tmp_path: Path) -> None:
    """Responses without published metrics, or even without facts, are judged on import."""
    without_metrics(data)
    bare = stored(1, PLAIN, "none")
    del bare["triples"]
    write(data / RESPONSES, bare, stored(2, QUOTED, "strip-quotes"))
    place = str(tmp_path / "store")
    arguments = ["import", "text2kgbench", str(data), "--store", place]
    said = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    assert "2 dialogues, 1 task label, 26 scores of Parrot-1B" in said
    table = ["analyze", "tasks", "--store", place, "--format", "json"]
    rows = json.loads(CliRunner().invoke(app, table, catch_exceptions=False).stdout)
    assert "Parrot-1B" in json.dumps(rows)
    again = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    assert "already there" in again


def test_the_pass_of_an_import_is_one_like_others(data: Path) -> None:
    """The pass of an import conforms, is made by kgbench, and can be re-evaluated."""
    write(
        data / RESPONSES,
        *(stored(k, QUOTED if k == 2 else PLAIN, "strip-quotes") for k in (1, 2, 3, 4)),
    )
    with EmbeddedStore(None) as store:
        found = text2kgbench.read(data)
        text2kgbench.write_catalogue(store, found)
        (imported,) = text2kgbench.runs(data, found, store.iris)
        load(store, imported)
        with executor("local") as pool:
            assert judge_unjudged(store, imported, pool, JudgeLimits())
            assert judge_unjudged(store, imported, pool, JudgeLimits()) == 0
            (run,) = reading.runs(store)
            assert sorted(one.kind for one in reading.passes(store, run)) == ["import", "published"]
            reevaluate(store, run, pool, JudgeLimits())
        assert_conforms(store)
        judged = queries.rows(store, "list-passes")
    assert len(judged) == 3


@pytest.mark.external
def test_all_published_values_come_out_again(external_data: Path) -> None:
    """Each value of the stored responses is reproduced to two decimals."""
    folder = external_data / "text2kgbench"
    with EmbeddedStore(None) as store:
        data = text2kgbench.read(folder)
        text2kgbench.write_catalogue(store, data)
        compared = 0
        for imported in text2kgbench.runs(folder, data, store.iris):
            load(store, imported)
        for run in reading.runs(store):
            with executor("local") as pool:
                again = reevaluate(store, run, pool, JudgeLimits())
            assert again.comparison.differing == []
            assert "strictConf" in again.comparison.new_metrics
            graphs = {one.iri: one.graph for one in reading.passes(store, run)}
            old = reading.pass_scores(store, graphs[again.against])
            new = reading.pass_scores(store, graphs[again.evaluation_pass])
            for dialogue, rounds in old.items():
                for metric, value in rounds[0].scores.items():
                    compared += 1
                    assert f"{value:.2f}" == f"{new[dialogue][0].scores[metric]:.2f}"
    assert data.problems["facts-differ"] == 0
    assert compared == 28_693
