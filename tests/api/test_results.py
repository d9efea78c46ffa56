# SPDX-License-Identifier: Apache-2.0
"""Results of ``kgbench.open``: tables, dialogues, figures and runs, in memory and on disk."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import Future
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import kgbench
from kgbench.api import runs
from kgbench.api.connection import Dialogues
from kgbench.cli import app
from kgbench.engine.plans import plan_of
from kgbench.errors import ConfigurationError, QueryError, ResourceError, StoreError, TaskError
from kgbench.record.dialogues import dialogues
from kgbench.tables import Column, Table
from tests.support.analysis_store import graph, iri, owned, results, small

HOSTILE = "<script>alert('x')</script>\x1b[31m"
ORACLE = {"models": ["baseline:oracle"], "tasks": ["RdfFriendCount-turtle-1"], "iterations": 1}
NAN = float("nan")
PAIR = ("model-a", "model-b")


def open_nothing():
    """Fail, because a plan without a suite needs no store."""
    raise AssertionError


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
        (lambda: found.leaderboard(alpha=NAN), "alpha: nan is not a finite number"),
        (lambda: found.compare(*PAIR, margin=-1), "margin: -1 is not in the range 0 upwards"),
        (lambda: found.compare(*PAIR, margin=NAN), "margin: nan is not a finite number"),
        (
            lambda: found.compare(*PAIR, margin=0.1, estimand="dialogues"),
            "margin: the tests of dialogues as if independent have no margin",
        ),
        (lambda: found.compare(*PAIR, solved=NAN), "solved: nan is not a finite number"),
        (lambda: found.items(solved=NAN), "solved: nan is not a finite number"),
        (lambda: found.compare(*PAIR, flips=True, solved=NAN), "solved: nan is not a finite"),
        (lambda: found.compare(*PAIR, samples=0), "samples: 0 is not in the range 1 upwards"),
        (lambda: found.compare(*PAIR, samples=2.5), "samples: 2.5 is not a whole number"),
        (lambda: found.compare(*PAIR, seed=-1), "seed: -1 is not in the range 0 upwards"),
        (lambda: found.reevaluate(timeout=0), "timeout: 0 is not in the range 0.1 to 3600"),
        (lambda: found.reevaluate(timeout=-1), "timeout: -1 is not in the range 0.1 to 3600"),
        (lambda: found.reevaluate(timeout=NAN), "timeout: nan is not a finite number"),
        (lambda: found.tasks(round="worst"), "'worst' is not a round"),
        (lambda: found.text2kg(table="all"), "table: choose ontologies, overview"),
        (found.outcomes.figure, "there is no figure of 'outcomes'"),
        (lambda: found.query("SELECT ?s { ?s ?p ?o }", a=1), "only declared queries have param"),
        (lambda: found.query("ASK { ?s ?p ?o }"), "only a SELECT query has a table"),
        (lambda: found.query("no-such-query"), "there is no query 'no-such-query'"),
        (lambda: found.dialogues(sort="size"), "cannot be sorted by 'size'"),
        (lambda: found.dialogues(outcome="fine"), "there is no outcome 'fine'"),
        (lambda: found.select(tasks=["a", "b"]), r"tasks is one text or glob, not \['a', 'b'\]"),
        (lambda: found.leaderboard().column("nope"), "no column 'nope': known are "),
        (lambda: found.leaderboard().column("scor"), "no column 'scor': did you mean score"),
        (lambda: found.leaderboard().where("modle", "a"), "no column 'modle': did you mean model"),
        (lambda: found.select(models="x*").compare("model-a", "model-b"), "models are compared"),
    ]:
        with pytest.raises(QueryError, match=message):
            call()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("iterations", 2.5, "found 2.5; allowed: a whole number from 1"),
        ("concurrency", 0, "found 0; allowed: a whole number from 1 to 4096"),
        ("concurrency", -1, "found -1; allowed: a whole number"),
        ("call_timeout", -1, "found -1; allowed: a number of seconds above 0, at most 86400"),
        ("call_timeout", NAN, "found the text 'nan'; allowed: a number of seconds above 0"),
        ("requests_per_minute", 0, "found 0; allowed: a number above 0"),
        ("tokens_per_minute", 0.5, "found 0.5; allowed: a number from 1"),
        ("max_cost", -1, "found -1; allowed: an amount of US dollars from 0"),
        ("max_cost", NAN, "found the text 'nan'; allowed: an amount of US dollars"),
        ("max_cost", "much", "found the text 'much'; allowed: an amount of US dollars"),
        ("max_tokens", -1, "found -1; allowed: a whole number from 0"),
        ("max_tokens", 2**70, f"found {2**70}; allowed: a whole number from 0"),
        ("batch", "bogus", "found the text 'bogus'; allowed: true or false"),
        ("tool_protocol", "bogus", "found the text 'bogus'; allowed: native or text"),
    ],
)
def test_runs_are_limited_as_by_configurations(field, value, message):
    """A limit that no configuration may have is refused by its name, before anything runs."""
    with kgbench.open("memory:") as found:
        with pytest.raises(ConfigurationError) as refused:
            found.run(**{**ORACLE, field: value})
        assert str(refused.value).startswith(f"{field}: {message}")
        assert not found.sparql("ASK { GRAPH ?g { ?run a kgb:Run } }")


def test_limits_are_recorded_as_those_of_a_configuration():
    """Numbers of other types and several refused limits are treated as in a file."""
    limits = {"concurrency": np.int64(2), "call_timeout": 30, "max_cost": Decimal("0.1")}
    plan = plan_of(None, open_nothing, **limits)

    assert (plan.call_timeout, plan.max_cost) == (30.0, Decimal("0.1"))
    assert "kgb:concurrency 2 ;" in plan.source_ttl
    with pytest.raises(ConfigurationError) as refused:
        plan_of(None, open_nothing, concurrency=0, max_tokens=-1)
    assert len(refused.value.findings) == 2


@pytest.mark.parametrize("case", [-1, 1.5, "first"])
def test_cases_count_from_zero(case):
    """A number that no case can have is refused."""
    label = ORACLE["tasks"][0]
    for call in (kgbench.example, lambda *args, case: kgbench.score(*args, "", case=case)):
        with pytest.raises(TaskError, match=f"has no case number {case!r}: cases count from 0"):
            call(label, case=case)


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
    figure = found.leaderboard.figure()
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

    assert all(turn.prompt == "[the text was left out]" for turn in after.turns)
    assert replace(after, turns=()) == replace(before, turns=())


def test_store_from_python(tmp_path):
    """Python gives the same tables as the command line, and numbers in queries as numbers."""
    location = str(tmp_path / "s")
    owned("analysis_scores", location).close()
    with kgbench.open(location) as opened:
        assert opened.leaderboard().rows == results(small()).leaderboard().rows
        rows = opened.query("score-histograms", metric=iri("metric/Mend/2.0/max_combined"))
        assert sum(rows.column("count")) == 5
        assert set(rows.column("value")) == {0.0, 0.9, 1.0}
        assert opened.select(models="model-a").tasks().column("n") == [3, 3, 3]
        assert opened.compare("model-a", "model-b").rows
        assert opened.feedback().rows
        assert opened.leaderboard(significance=True).rows
        assert bool(opened.sparql("ASK { GRAPH ?g { ?s ?p ?o } }"))
