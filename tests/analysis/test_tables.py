# SPDX-License-Identifier: Apache-2.0
"""Leaderboard and task scores over a small graph, by hand; and the formats of tables."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.analysis.leaderboard import leaderboard, standings_table
from kgbench.analysis.task_scores import task_scores
from kgbench.characters import one_line, visible
from kgbench.errors import QueryError
from kgbench.scores.declared import ScoreSet
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from kgbench.tables import Column, Kind, Table, render
from kgbench.tables.rendering import as_terminal
from kgbench.vocab import KGB, PROV, XSD
from tests.support.analysis_store import GraphStore, graph, iri, small


def test_leaderboard_by_hand():
    """Scores are means of task means; errors are counted, and missing dialogues are not zeros."""
    table = leaderboard(small(), select(small()))
    first, second = table.records()
    turtle, jsonld, mend = 11 / 18, 5 / 12, 2 / 3  # means of model A
    assert first["model"] == "Model B"
    assert first["score"] == pytest.approx((1 / 3 + 1 + 0.95) / 3, abs=1e-12)
    assert (first["n"], first["tasks"], first["failed"], first["not_judged"]) == (7, 3, 1, 1)
    assert second["score"] == pytest.approx((turtle + jsonld + mend) / 3, abs=1e-12)
    assert (second["n"], second["failed"], second["unreadable"]) == (9, 0, 1 / 9)
    assert [row["rank"] for row in table.records()] == [1, 2]


def test_leaderboard_reads_the_chosen_pass():
    """The first pass counts unless another is chosen; revised scores count once."""

    def picked(pass_):
        only = ScoreSet("t", "T", "", (Selector("Pick-turtle"),))
        table = standings_table(small(), select(small(), pass_=pass_), only)
        return {row["model"]: (row["score"], row["n"]) for row in table.records() if row["n"]}

    assert picked("first")["Model A"] == (pytest.approx(11 / 18), 3)
    assert picked("latest")["Model A"] == (pytest.approx(0.75), 3)
    assert picked(iri("pass/p2")) == {"Model A": (0.625, 2)}


def judged_again(*values):
    """Return the small store with a third pass, which revises the first, as the second one does.

    ``values`` are F1 of model A on Pick-turtle, for the last dialogues.
    """
    third, within = iri("pass/p3"), iri("graph/pass/p3")
    judged = "".join(
        f"""<{third}/{k}> a k:Evaluation ; p:wasGeneratedBy <{third}> ;
            p:wasRevisionOf <{iri(f"pass/p1/model-a/Pick-turtle/{k}-d{k}/0")}> ;
            k:dialogue <{iri(f"run/r1/model-a/Pick-turtle/{k}-d{k}")}> ; k:round 0 ;
            k:iteration {k} ; k:model <{iri("model/model-a")}> ; k:case <{iri(f"case/c{k + 1}")}> ;
            k:task <{iri("task/Pick/1.0/Pick-turtle/aa11")}> ; k:suite <{iri("suite/small")}> ;
            k:outcome <{iri("outcome/scored")}> ; <{iri("metric/Pick/1.0/f1")}> {value}e0 ."""
        for k, value in enumerate(values, 3 - len(values))
    )
    store = GraphStore("analysis_scores")
    store.database.update(
        f"""PREFIX k: <{KGB}> PREFIX p: <{PROV}> PREFIX x: <{XSD}> INSERT DATA {{
        GRAPH <{iri("graph/catalogue")}> {{ <{within}> k:describes <{third}> }}
        GRAPH <{within}> {{
          <{third}> a k:EvaluationPass ; k:passKind "reevaluation" ;
            p:wasInformedBy <{iri("run/r1")}> ;
            p:startedAtTime "2026-11-22T10:00:00Z"^^x:dateTime .
          {judged} }} }}"""
    )
    return store


def test_a_dialogue_judged_again_twice_counts_once():
    """Of several re-evaluations the latest counts, even if each revises the first pass."""
    store = judged_again(0.75, 0.25)
    chosen = select(store, pass_="latest")
    narrowed = replace(chosen, tasks="Pick-turtle", models="model-a")
    table = task_scores(store, narrowed)
    assert table.column("n") == [3]
    assert table.column("mean") == [pytest.approx((1 + 0.75 + 0.25) / 3)]
    assert iri("graph/pass/p2") not in chosen.pass_graphs


def test_overlapping_reevaluations_are_not_guessed_at():
    """If revisions do not determine the latest pass, a pass has to be named."""
    store = judged_again(0.25)
    with pytest.raises(QueryError, match=r"overlap in part.*choose a pass"):
        select(store, pass_="latest")
    assert select(store, pass_=iri("pass/p3")).pass_graphs == (iri("graph/pass/p3"),)


def test_task_scores_by_hand():
    """Every cell has its distribution and its errors, one row per task and model."""
    rows = {
        (row["task"], row["model"]): row for row in task_scores(small(), select(small())).records()
    }
    assert len(rows) == 6
    cell = rows["Pick-turtle", "Model A"]
    assert (cell["metric"], cell["n"], cell["median"], cell["minimum"], cell["maximum"]) == (
        "f1", 3, 0.5, 1 / 3, 1.0
    )  # fmt: skip
    assert cell["q1"] == pytest.approx(5 / 12)
    assert rows["Mend-turtle", "Model B"]["not_judged"] == 1
    assert rows["Pick-jsonld", "Model B"]["failed"] == 1
    assert rows["Pick-jsonld", "Model B"]["sd"] == 0.0
    assert rows["Mend-turtle", "Model A"]["unreadable"] == 1 / 3


def test_task_scores_of_another_metric_and_some_tasks():
    """A named metric is shown for the tasks that have it; globs choose tasks and models."""
    table = task_scores(small(), select(small(), models="*-b"), metric="mean_combined")
    assert table.column("task") == ["Mend-turtle"]
    assert table.column("mean") == [pytest.approx((1.3 / 3 + 1) / 2)]
    with pytest.raises(QueryError, match="no task label matches 'Nothing'"):
        task_scores(small(), select(small(), tasks="Nothing"))
    with pytest.raises(QueryError, match="has a metric 'beauty'"):
        task_scores(small(), select(small()), metric="beauty")


def test_suites_are_never_pooled():
    """One suite is chosen: without a name, that of the newest run."""
    recorded = graph("result")
    assert select(recorded).suite == iri("suite/kgbench-1")
    chosen = select(recorded, iri("suite/llm-kg-bench-3"))
    assert chosen.pass_graphs == (iri("graph/pass/3"),)
    assert select(recorded, pass_=iri("pass/3")).suite == iri("suite/llm-kg-bench-3")


def test_unknown_choices_are_refused():
    """An unknown suite or pass is refused with the known ones."""
    with pytest.raises(QueryError, match=r"no suite 'big'.*small"):
        select(small(), "big")
    with pytest.raises(QueryError, match=r"suite 'small' has no evaluation pass 'urn:p'.*pass/p1"):
        select(small(), pass_="urn:p")


TABLE = Table(
    "A & B_1",
    (Column("name", "Name"), Column("score", "Score", Kind.SCORE), Column("p", "p", Kind.P)),
    (("a|b", 0.123456789, 0.00001), ("100 %\x1b[31m\u202e", None, 0.05)),
    notes=("50 % of $x",),
)


def test_data_formats_carry_full_numbers():
    """CSV and JSON have unrounded numbers; absent ones are empty or null."""
    rows = list(csv.reader(io.StringIO(render(TABLE, "csv"))))
    assert rows[:2] == [["name", "score", "p"], ["a|b", "0.123456789", "1e-05"]]
    assert rows[2][1] == ""
    loaded = json.loads(render(TABLE, "json"))
    assert loaded["rows"][0]["score"] == 0.123456789
    assert loaded["rows"][1]["score"] is None


def test_json_has_a_word_for_infinity():
    """Infinite numbers, which JSON lacks, are written as in XSD."""
    infinite = Table("t", (Column("t", "t"),), ((float("inf"),), (-float("inf"),), (1.5,)))
    rows = json.loads(render(infinite, "json"))["rows"]
    assert [row["t"] for row in rows] == ["INF", "-INF", 1.5]


def test_markdown_and_latex_escape_what_they_must():
    """No cell can end a column, start a command or hide in the text."""
    markdown = render(TABLE, "markdown")
    assert "| a\\|b | 0.123 | &lt;0.0001 |" in markdown
    latex = render(TABLE, "latex")
    assert r"A \& B\_1. 50 \% of \$x" in latex
    assert latex.count(r"\\") == 3
    assert "\x1b" not in markdown + latex


def test_terminal_never_gets_an_escape():
    """Control characters and direction overrides are shown in escaped form."""
    shown = as_terminal(TABLE)
    assert "100 %\\x1b[31m\\u202e" in shown
    assert "\x1b" not in shown


@given(st.text())
def test_visible_text_cannot_steer(text):
    """Only printable characters, line ends and tabs remain; printable text is unchanged."""
    shown = visible(text)
    assert all(c.isprintable() or c in "\n\t" or c.isspace() for c in shown)
    assert "\n" not in one_line(text)
    if text.isprintable():
        assert shown == text


def test_unknown_format_is_refused():
    """An unknown format is refused with the known ones."""
    with pytest.raises(ValueError, match=r"no format 'pdf'.*markdown"):
        render(TABLE, "pdf")


def test_table_survives_json():
    """A table read back from its JSON is the same table."""
    table = leaderboard(small(), select(small()))
    assert Table.from_json(json.loads(json.dumps(table.as_json()))) == table
