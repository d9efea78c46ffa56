# SPDX-License-Identifier: Apache-2.0
"""Results of ``kgbench.open``: tables, dialogues, figures and runs, in memory and on disk."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import Future
from dataclasses import replace

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import kgbench
from kgbench.analysis.tables import Column, Table
from kgbench.api import runs
from kgbench.api.dialogues import Dialogues
from kgbench.cli import app
from kgbench.errors import QueryError, ResourceError, StoreError
from kgbench.record.dialogues import dialogues
from tests.analysis_store import graph, iri, owned, results, small

HOSTILE = "<script>alert('x')</script>\x1b[31m"
ORACLE = {"models": ["baseline:oracle"], "tasks": ["RdfFriendCount-turtle-1"], "iterations": 1}


def escaped(html):
    """Return whether the hostile text is neutralised for browsers and terminals."""
    return "&lt;script&gt;" in html and "<script" not in html and "\x1b" not in html


def test_tables_are_those_of_the_command_line(tmp_path):
    """A method gives the rows and notes that its command prints as JSON, for one selection."""
    location = str(tmp_path / "s")
    owned("analysis_scores", location).close()
    for method, words in {
        "leaderboard": ["leaderboard", "--json"],
        "tasks": ["tasks", "--json", "--model", "model-a"],
        "feedback": ["dialogue", "--json"],
    }.items():
        printed = CliRunner().invoke(app, ["analyze", *words, "--store", location])
        with kgbench.open(location) as found:
            chosen = found.select(models="model-a") if "--model" in words else found
            table = getattr(chosen, method)()
            assert list(table) == json.loads(printed.stdout)["rows"]
            assert list(table.notes) == json.loads(printed.stdout)["notes"]


def test_recorded_text_cannot_script_a_notebook():
    """Tables, runs and lists of dialogues escape titles, headings, cells, notes and warnings."""
    table = Table(HOSTILE, (Column("a", HOSTILE),), ((HOSTILE,),), notes=(HOSTILE,))
    run = runs.Run(
        iri="urn:r",
        name=HOSTILE,
        planned=1,
        complete=1,
        failed=0,
        interrupted=False,
        limit=None,
        failures={},
        leaderboard=table,
        outcomes={},
        warnings=(HOSTILE,),
        worst=(),
    )
    shown = [table._repr_html_(), run._repr_html_(), Dialogues(None, table)._repr_html_()]

    assert [html.count("&lt;script&gt;") for html in shown] == [4, 6, 4]
    assert all(map(escaped, shown))
    assert "\x1b" not in repr(table)


def test_options_are_checked_as_on_the_command_line():
    """A value that the command line refuses is refused with the name of the Python parameter."""
    found = results(small())
    for call, message in [
        (lambda: found.leaderboard(alpha=3), "alpha: 3 is not in the range 0 to 1"),
        (lambda: found.tasks(answers="worst"), "'worst' is not a round"),
        (lambda: found.text2kg(kind="all"), "kind: choose ontologies, overview"),
        (lambda: found.tasks(aspects=True, metric="f1"), "aspects describe tasks, not scores"),
        (found.outcomes.figure, "there is no figure of 'outcomes'"),
        (lambda: found.query("SELECT ?s { ?s ?p ?o }", a=1), "only declared queries have param"),
        (lambda: found.query("ASK { ?s ?p ?o }"), "only a SELECT query has a table"),
        (lambda: found.query("no-such-query"), "there is no query 'no-such-query'"),
        (lambda: found.dialogues(sort="size"), "cannot be sorted by 'size'"),
        (lambda: found.dialogues(outcome="fine"), "there is no outcome 'fine'"),
        (lambda: found.select(models=["a", "b"]), r"models is one text or glob, not \['a', 'b'\]"),
        (lambda: found.leaderboard().column("nope"), "no column 'nope': known are "),
        (lambda: found.leaderboard().column("scor"), "no column 'scor': did you mean score"),
        (lambda: found.leaderboard().where("modle", "a"), "no column 'modle': did you mean model"),
        (lambda: found.select(models="x*").compare("model-a", "model-b"), "models are compared"),
    ]:
        with pytest.raises(QueryError, match=message):
            call()


def test_selections_narrow_and_keep():
    """A selection narrows an earlier one, and leaves it unchanged."""
    found = results(small())
    one = found.select(models="model-a")

    assert {*one.tasks().column("model")} == {"Model A"}
    assert {*one.select(tasks="Mend*").selection.narrowed} == {"task", "model"}
    assert {*found.tasks().column("model")} == {"Model A", "Model B"}


def test_figures_are_objects_of_matplotlib():
    """Figures show the table of the analysis, with the display names."""
    found = results(graph("analysis_scores"))
    figure = found.leaderboard.figure(samples=20)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]

    assert isinstance(figure, Figure)
    assert names == found.leaderboard().column("model")
    assert all(isinstance(one, Figure) for one in found.box_plots(metric="f1").values())


def test_tables_say_that_pandas_is_missing(monkeypatch):
    """Without pandas, a DataFrame is refused with an explanation."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ResourceError, match="pip install pandas"):
        results(small()).leaderboard().to_pandas()


def test_a_table_without_rows_is_true():
    """A table is true even if it has no rows."""
    assert Table("", (), ())
    assert len(Table("", (), ())) == 0


def test_runs_continue_in_memory():
    """A store in memory is written and read by the same object, and closed with it."""
    found = kgbench.open("memory:")
    first, again = found.run(**ORACLE), found.run(**ORACLE)

    assert (first.finished, first.complete, first.iri) == (True, 1, again.iri)
    assert first.outcomes == {"baseline:oracle": {"scored": 1}}
    assert found.leaderboard().rows == first.leaderboard.rows
    assert found.run(**ORACLE, new=True).iri != first.iri
    assert len(found.reevaluate(first.iri).passes) == 1
    with pytest.raises(QueryError, match="prefix no: is not declared"):
        found.query("SELECT ?s { ?s no:p ?o }")
    found.close()


def test_what_was_written_is_read(tmp_path):
    """Open results include a run as soon as it is finished, also one of another process."""
    location = str(tmp_path / "s")
    found, other = kgbench.open(location), kgbench.open(location)
    with pytest.raises(StoreError, match="there is no store"):
        found.leaderboard()
    found.run(**ORACLE)
    assert found.leaderboard().column("n") == [1]
    other.run(**{**ORACLE, "iterations": 2})
    found.close()
    assert found.leaderboard().column("n") == [2]
    found.close()
    other.close()


def test_runs_work_inside_an_event_loop():
    """A run works inside an event loop, as in a notebook."""

    async def cell():
        return kgbench.open("memory:").run(**ORACLE)

    assert asyncio.run(cell()).finished


def test_interrupts_stop_in_order():
    """An interrupt asks the run to stop and waits for it; the result is still returned."""
    asked = []

    class Interrupted(Future):
        def result(self):
            if len(asked) < 2:
                raise KeyboardInterrupt
            return "done"

    assert runs._wait(Interrupted(), lambda: asked.append(1)) == "done"
    assert len(asked) == 2


def test_dialogues_are_whole(monkeypatch):
    """Dialogues come in the order of the search, with their texts, by index and slice."""
    monkeypatch.setattr("kgbench.record.dialogues._AT_ONCE", 2)
    found = kgbench.open("memory:")
    run = found.run(models="baseline:oracle", tasks="RdfSyntaxFixList-turtle", iterations=3)
    listed = found.dialogues(sort="task")

    assert len(listed) == 3
    assert [one.iri for one in listed] == listed.iris
    assert listed[1] == [*listed][1] == listed[1:][0]
    assert {one.run for one in listed} == {run.iri}
    assert all(one.ended and one.answers and one.turns[0].prompt for one in listed)
    assert listed.to_pandas().shape == (3, len(listed.table.columns))
    assert list(found.dialogues(search="no model wrote this")) == []
    with pytest.raises(StoreError, match="holds no dialogue <urn:none>"):
        list(dialogues(found.store, ["urn:none"]))
    found.close()


def test_removed_texts_are_named_by_their_digest():
    """A removed text is shown by its digest, and the rest of the dialogue is read."""
    store = type(small())("result")
    name = iri("run/1/parrot-2/Mend-turtle/2-d4d4d4d4")
    (before,) = dialogues(store, [name])
    store.database.update(
        "DELETE WHERE { GRAPH ?g { ?text <http://www.w3.org/ns/prov#value> ?v ; "
        "a <https://w3id.org/kgbench/ns#Text> } }"
    )
    (after,) = dialogues(store, [name])

    assert all(turn.prompt.startswith("[the text was removed; its SHA-256") for turn in after.turns)
    assert replace(after, turns=()) == replace(before, turns=())
