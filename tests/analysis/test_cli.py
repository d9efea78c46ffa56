# SPDX-License-Identifier: Apache-2.0
"""The commands query, show, analyze and compare on the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from kgbench.cli import build_app
from kgbench.errors import NotRecorded, QueryError, StoreError, StoreInUse
from tests.support.analysis_store import iri, owned

app = build_app(["analyze", "compare", "query", "show"])


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    """Return the location of a store on disk with few scores."""
    folder = str(tmp_path_factory.mktemp("store") / "s")
    owned("analysis_scores", folder).close()
    return folder


@pytest.fixture(scope="module")
def run(location):
    """Return a function that runs a command on the store and returns its output."""

    def typed(*arguments, code=0, store=location, **options):
        found = CliRunner().invoke(app, [*arguments, "--store", store], **options)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert found.exit_code == code, found.output
        return found.stdout

    return typed


def test_leaderboard_in_every_format(run, tmp_path):
    """A table, CSV, JSON, Markdown and LaTeX have the same numbers; a workbook needs a file."""
    rows = list(csv.DictReader(io.StringIO(run("analyze", "leaderboard", "--format", "csv"))))
    assert [row["model"] for row in rows] == ["Model B", "Model A"]
    loaded = json.loads(run("analyze", "leaderboard", "--json"))
    assert loaded["rows"][0]["score"] == float(rows[0]["score"])
    assert "Model B" in run("analyze", "leaderboard")
    assert run("analyze", "leaderboard", "-f", "markdown").count("| Model B |") == 1
    assert r"\toprule" in run("analyze", "leaderboard", "-f", "latex")
    run("analyze", "leaderboard", "-f", "xlsx", code=2)
    out = tmp_path / "board.xlsx"
    run("analyze", "leaderboard", "-f", "xlsx", "-o", str(out))
    assert out.read_bytes()[:2] == b"PK"


_KEPT = (
    "PREFIX kgb: <https://w3id.org/kgbench/ns#> SELECT ?a WHERE { GRAPH ?g "
    '{ ?a a kgb:Analysis ; kgb:analysisName "leaderboard" ; kgb:parameters ?p } '
    'FILTER CONTAINS(STR(?p), "\\"significance\\":false") }'
)


def test_a_table_is_kept_where_it_is_asked_for(run):
    """Only ``--keep`` stores a table: once, and read back byte by byte."""
    first = run("analyze", "leaderboard", "--json")
    assert not run("query", "-", "--format", "csv", input=_KEPT).splitlines()[1:]
    assert run("analyze", "leaderboard", "--json", "--keep") == first
    assert run("analyze", "leaderboard", "--json", "--keep") == first
    assert run("analyze", "leaderboard", "--json") == first
    assert len(run("query", "-", "--format", "csv", input=_KEPT).splitlines()[1:]) == 1


def test_analyses_open_no_store_for_writing(run, monkeypatch):
    """Tables, explanations and comparisons open the store only for reading."""

    def refuse(path):
        raise AssertionError(f"{path} was opened for writing")

    monkeypatch.setattr("kgbench.store.embedded.lock_folder", refuse)
    run("analyze", "tasks", "--task", "Pick-*")
    run("analyze", "leaderboard", "--explain", "model-a::Pick-*")
    run("compare", "model-a", "model-b")


def test_what_cannot_be_kept_is_refused(run, tmp_path):
    """``--keep`` refuses an explanation, a table of several sources, and a missing store."""
    run("analyze", "leaderboard", "--keep", "--explain", "model-a", code=2)
    run("analyze", "leaderboard", "--keep", "--sources", str(tmp_path), code=2)
    missing = tmp_path / "mistyped"
    typed = ["analyze", "leaderboard", "--keep", "--store", str(missing)]
    assert isinstance(CliRunner().invoke(app, typed).exception, StoreError)
    assert not missing.exists()


def test_pass_is_chosen_on_the_command_line(run):
    """``--pass latest`` counts revised scores once."""
    arguments = ("analyze", "tasks", "-t", "Pick-turtle", "-m", "model-a", "-f", "csv")
    first, latest = (
        next(csv.DictReader(io.StringIO(run(*arguments, "--pass", which))))
        for which in ("first", "latest")
    )
    assert float(latest["mean"]) == 0.75
    assert float(first["mean"]) < 0.62


def test_store_in_use_is_still_analysed(run, location):
    """While another process owns the store, tables are computed; keeping one is refused."""
    from kgbench.store import open_store

    with open_store(location):
        assert "Pick-turtle" in run("analyze", "tasks", "--metric", "f1")
        with pytest.raises(StoreInUse):
            run("analyze", "tasks", "--metric", "f1", "--keep")


def test_passes_are_compared_as_reevaluate_reports(run):
    """``compare --json`` of two passes gives the report of a re-evaluation."""
    report = json.loads(run("compare", "p1", "p2", "--json"))
    assert set(report) == {"dialogues_compared", "dialogues_differing", "metrics", "new_metrics"}
    assert report["dialogues_compared"] == 2


def test_comparisons_obey_the_common_selectors(run):
    """Comparisons are narrowed to a run, a task and a model; contradictions are refused."""
    passes = ("compare", "p1", "p2", "--json")
    assert json.loads(run(*passes, "--model", "model-b"))["dialogues_compared"] == 0
    narrowed = json.loads(run(*passes, "--task", "Pick-*", "--model", "model-a"))
    assert narrowed["dialogues_compared"] == 2
    models = ("compare", "model-a", "model-b", "--samples", "20", "--json")
    rows = json.loads(run(*models, "--run", "r1", "--task", "Pick-turtle"))["rows"]
    assert {row["task"] for row in rows} <= {"Pick-turtle", "All tasks"}
    run(*models, "--model", "model-a", code=2)
    run(*passes, "--run", "r1", code=2)


def test_declared_queries_by_name(run):
    """Parameters come from the command line, graphs from the selection; values may repeat."""
    metric = iri("metric/Pick/1.0/f1")
    printed = run("query", "score-histograms", "-p", f"metric={metric}", "-f", "csv")
    assert len(printed.splitlines()) == 9
    assert "score-histograms" in run("query")
    text = run("query", "list-models", "-p", "id=model-a", "-p", "id=model-b", "--text")
    assert 'VALUES (?id) { ("model-a") ("model-b") }' in text
    for form, start in (("json", '{"head"'), ("xml", "<?xml"), ("tsv", "?model")):
        assert run("query", "list-models", "-f", form).startswith(start)


def test_any_query_from_a_file(run, tmp_path):
    """A file may hold any query: SELECT, ASK or CONSTRUCT."""
    file = tmp_path / "q.rq"
    file.write_text("ASK { GRAPH ?g { ?s ?p ?o } }", encoding="utf-8")
    assert run("query", str(file)) == "yes\n"
    file.write_text("CONSTRUCT { ?s a ?c } WHERE { GRAPH ?g { ?s a ?c } } LIMIT 1", "utf-8")
    assert " a " in run("query", str(file))
    run("query", str(file), "-f", "csv", code=2)
    run("query", str(file), "-p", "a=b", code=2)
    run("query", "list-models", "-p", "nothing", code=2)
    run("query", "list-models", "-f", "turtle", code=2)
    with pytest.raises(QueryError, match="no query 'nothing'"):
        run("query", "nothing")
    with pytest.raises(QueryError, match=r"there is no file nothing\.rq$"):
        run("query", "nothing.rq")
    with pytest.raises(QueryError, match="the query is empty"):
        run("query", "-", input=" \n")


def test_show_prints_one_dialogue(run, tmp_path):
    """``show`` prints facts, rounds and verdicts, as text and JSON; judges' answers come last."""
    store, path = str(tmp_path / "s"), "run/1/parrot-2/Mend-turtle/0-d2d2d2d2"
    owned("result", store).close()
    printed = run("show", path, store=store)
    assert "model/parrot-2" in printed
    assert printed.index("verdict on answer 0") < printed.index("verdict on the whole dialogue")
    assert json.loads(run("show", path, "--json", store=store))["iri"] == iri(path)
    with pytest.raises(QueryError, match="holds no dialogue"):
        run("show", f"{path}0", store=store)
    with pytest.raises(NotRecorded, match="no dialogue is called 'run/none'"):
        run("show", "run/none", store=store)
