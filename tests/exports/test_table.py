# SPDX-License-Identifier: Apache-2.0
"""The wide table of a run has a row for each dialogue, with the scores in the store."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.exports.wide_table import LEADING, as_arrow, as_parquet, wide_table
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import open_reader
from kgbench.tables import Column, Table
from tests.support.archives import as_json, record_v3
from tests.support.commands import printed as call

IRIS = ("dialogue", "case")  # they differ if texts are left out


@pytest.fixture(scope="module")
def rows(quick_start):
    """Return the rows of the CSV table."""
    text = call("export", "table", "--store", quick_start, "--format", "csv")
    return list(csv.DictReader(io.StringIO(text)))


def test_each_dialogue_is_a_row_with_its_scores(quick_start, rows):
    """Every score in the store is in its dialogue's row, under its published short name."""
    with open_reader(str(quick_start)) as store:
        run = read(store, ExportRequest(level=RedactionLevel.GOLD))
    by_dialogue = {row["dialogue"]: row for row in rows}
    seen = set()

    assert len(by_dialogue) == len(rows) == len(run.dialogues)
    for dialogue in run.dialogues:
        row = by_dialogue[dialogue.iri]
        several = any(verdict.round is None for verdict in run.verdicts[dialogue.iri])
        for verdict in run.verdicts[dialogue.iri]:
            for metric, value in verdict.scores.items():
                name = run.metrics[metric][0]
                column = (
                    f"{verdict.round}_{name}" if several and verdict.round is not None else name
                )
                seen.add(column)
                assert float(row[column]) == value, (dialogue.iri, column)
        assert row["answer"] == dialogue.turns[-1].answer
    assert {"0_combined", "max_combined", "f1"} <= seen
    for row in rows:
        filled = {name for name in seen if row[name]}
        assert filled, row["dialogue"]
    assert [column.name for column in LEADING] == list(rows[0])[: len(LEADING)]


def test_rows_are_by_model_task_and_iteration(rows):
    """Model, task and iteration identify a row."""
    keys = [(row["model_id"], row["task"], row["iteration"]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_binary_forms_hold_the_same_values(quick_start, rows, tmp_path):
    """Parquet, Arrow and Excel have the columns of the CSV, with numbers as numbers."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    files = {name: tmp_path / f"t.{name}" for name in ("parquet", "arrow", "xlsx")}
    for name, path in files.items():
        call("export", "table", "--store", quick_start, "-f", name, "-o", path)
    for table in (parquet.read_table(files["parquet"]), feather.read_table(files["arrow"])):
        assert table.column_names == list(rows[0])
        assert table.schema.field("f1").type == pyarrow.float64()
        assert table.schema.field("iteration").type == pyarrow.int64()
        assert table.column("answer").to_pylist() == [row["answer"] for row in rows]
    assert files["xlsx"].read_bytes()[:2] == b"PK"


def test_columns_of_mixed_values_become_text():
    """A column of mixed types is exported as text, without loss."""
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    columns = tuple(Column(name, name) for name in ("mixed", "truth", "none"))
    table = Table("Mixed", columns, (("a", True, None), (1.5, None, None), (None, False, None)))
    for content, opened in ((as_parquet(table), parquet), (as_arrow(table), feather)):
        found = opened.read_table(io.BytesIO(content)).to_pydict()
        assert found["mixed"] == ["a", "1.5", None]
        assert found["truth"] == [True, None, False]
        assert found["none"] == [None, None, None]


def test_a_protected_suite_gives_its_scores_and_no_text(tmp_path):
    """Texts of a protected suite are left out, unless --unprotected names the suite."""
    path, store = tmp_path / "found.json", tmp_path / "store"
    path.write_bytes(as_json([record_v3()]))
    call("import", "llm-kg-bench", path, "--suite", "mine", "--store", store)

    def table(*more):
        done = CliRunner().invoke(app, ["export", "table", "--store", str(store), *more])
        assert done.exit_code == 0, done.output
        return next(csv.DictReader(io.StringIO(done.stdout))), done.stderr

    (kept, said), (whole, _) = table(), table("--unprotected", "mine")
    assert "protected" in said
    assert "answer" not in kept
    assert whole["answer"]
    scores = {name: value for name, value in kept.items() if not name.startswith("info_")}
    assert {name: whole[name] for name in scores if name not in IRIS} == {
        name: value for name, value in scores.items() if name not in IRIS
    }


def test_json_is_a_table_with_the_run_in_its_title(quick_start):
    """The JSON form has title, columns and rows like every table of kgbench."""
    found = json.loads(call("export", "table", "--store", quick_start, "--format", "json"))
    assert found["title"].startswith("Dialogues of ")
    assert {"model", "task", "iteration"} <= set(found["rows"][0])


def test_a_table_without_rows_has_only_leading_columns(quick_start):
    """A run without dialogues gives the leading columns and no row."""
    with open_reader(str(quick_start)) as store:
        run = read(store, ExportRequest(level=RedactionLevel.NONE, dialogue=None))
    run.dialogues = []
    table = wide_table(run)
    assert table.columns == LEADING
    assert table.rows == ()
