# SPDX-License-Identifier: Apache-2.0
"""Model records are complete, and trends equal those of scipy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from kgbench.analysis.leaderboard import leaderboard
from kgbench.errors import QueryError
from kgbench.plugins.papers.scaling import line, points_and_trends, scaling
from kgbench.scores.catalogue import records
from kgbench.scores.selection import select
from tests.support.analysis_store import altered, small

OWN = """
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<urn:a> a kgb:ModelRecord ; rdfs:label "A" ; kgb:family "F" ; kgb:matches "model-a" ;
    kgb:parameterCount 7.0e0 ; kgb:contextLength 8000 .
<urn:b> a kgb:ModelRecord ; rdfs:label "B" ; kgb:family "F" ; kgb:matches "model-b" ;
    kgb:parameterCount 70.0e0 ; kgb:activeParameterCount 10.0e0 .
"""


def test_all_41_models_of_the_paper_have_records():
    """Ten proprietary models without and 31 open ones with a size, each with date and licence."""
    found = records()
    assert len(found) == 41
    assert sum(record.parameters is None for record in found) == 10
    assert all(record.released and record.license and record.context for record in found)
    assert len({record.glob for record in found}) == 41


def test_mixtures_of_experts_have_active_parameters():
    """A mixture of experts has fewer active parameters than parameters; other models do not."""
    by_label = {record.label: record for record in records()}
    assert by_label["Phi-3.5-MoE-instruct"].active == 6.6
    assert by_label["Qwen2-7B-Instruct"].active == 7.0


def test_lines_without_spread_are_absent():
    """Two points, or points with one x, have no trend."""
    assert line([1.0, 2.0], [1.0, 2.0]) is None
    assert line([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert line([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]) == (0.0, 0.0, 0.0, 1.0, 0.0)
    slope, low, high, _, r = line([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])
    assert (slope, r) == (pytest.approx(0.8), pytest.approx(0.8))
    assert (low, high) == (pytest.approx(-1.02546, abs=1e-5), pytest.approx(2.62546, abs=1e-5))


def test_own_records_describe_own_models(tmp_path):
    """A user's records are read beside the shipped ones; unknown models are named."""
    file = tmp_path / "own.ttl"
    file.write_text(OWN, encoding="utf-8")
    points, trends = points_and_trends(small(), select(small()), file=file)
    assert (trends.context["method"], trends.context["estimand"]) == ("regression", "models")
    assert "to models of this kind" in trends.notes[-1]
    assert "method" not in points.context
    rows = {row["model"]: row for row in points.records()}
    assert (rows["Model B"]["parameters"], rows["Model B"]["active"]) == (70.0, 10.0)
    assert rows["Model A"]["score"] == pytest.approx((11 / 18 + 5 / 12 + 2 / 3) / 3)
    assert trends.rows == ()
    with pytest.raises(QueryError, match="no model record matches any of: Model A, Model B"):
        scaling(small(), select(small()))


def test_a_family_of_three_has_a_trend(tmp_path):
    """Three models of a family have a line per known size; a model without a score is left out."""
    third = """INSERT { GRAPH ?g { ?copy ?p ?o ; kgb:model <model/c> }
            GRAPH <graph/catalogue> { <model/c> a kgb:Model ; %(id)s "model-c" .
                <model/d> a kgb:Model ; %(id)s "model-d" }
            GRAPH <graph/run/r1> { <run/r1/d> a kgb:Dialogue ; kgb:model <model/d> ;
                kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; kgb:suite <suite/small> .
                <run/r1/d/0/call/0> a kgb:ModelCall ; kgb:outcome <outcome/provider-error> ;
                <http://purl.org/dc/terms/isPartOf> <run/r1/d> } }
        WHERE { GRAPH ?g { ?e a kgb:Evaluation ; kgb:model <model/model-a> ; ?p ?o
            FILTER (?p != kgb:model) } BIND (IRI(CONCAT(STR(?e), "/c")) AS ?copy) }"""
    store = altered(third % {"id": "<http://www.w3.org/2004/02/skos/core#notation>"})
    file = tmp_path / "own.ttl"
    more = "".join(
        f"""<urn:{k}> a kgb:ModelRecord ; rdfs:label "{k}" ; kgb:family "F" ;
            kgb:matches "model-{k}" ; kgb:parameterCount 700 ."""
        for k in "cd"
    )
    file.write_text(OWN + more, encoding="utf-8")
    points, trends = points_and_trends(store, select(store), file=file)
    assert sorted(points.column("model")) == ["Model A", "Model B", "model-c"]
    assert "model-d" in leaderboard(store, select(store)).column("model")
    rows = {(row["against"], row["family"]): row for row in trends.records()}
    score = {row["model"]: row["score"] for row in points.records()}
    expected = stats.linregress(
        [math.log10(7), math.log10(70), math.log10(700)],
        [score[name] for name in ("Model A", "Model B", "model-c")],
    )
    assert rows.keys() == {(of, who) for of in ("parameters", "active") for who in ("all", "F")}
    found = rows["parameters", "F"]
    assert (found["n"], found["unit"]) == (3, "tenfold")
    assert found["slope"] == pytest.approx(expected.slope, abs=1e-9)
    assert found["p"] == pytest.approx(expected.pvalue, abs=1e-9)
