# SPDX-License-Identifier: Apache-2.0
"""Item analysis: suspect cases by hand and among simulated answers."""

from __future__ import annotations

import numpy as np
import pytest

from kgbench.analysis.items import CORRELATED, statistics
from kgbench.scores.catalogue import MetricInfo
from kgbench.scores.reading import Answers, Item
from kgbench.statistics.intervals import Bounds
from kgbench.vocab import SKOS
from tests.support.analysis_store import altered, iri, results, small

TASK = "task/Pick/1.0/Pick-turtle/aa11"


def metric(*, higher=True, bounds=(0.0, 1.0)):
    """Return a metric of this direction and range."""
    return MetricInfo(
        "m", "m", "c", higher_is_better=higher, aggregation=None, base=None, bounds=Bounds(*bounds)
    )


def related(values, *, about=None):
    """Return the statistics of items from the values of each model, ``None`` if missing."""
    items = [Item("t", f"c{number}") for number in range(len(values))]
    models = [f"m{number}" for number in range(len(values[0]))]
    reached = {
        item: {
            model: Answers({value: 1}, {value: "d"})
            for model, value in zip(models, row, strict=True)
            if value is not None
        }
        for item, row in zip(items, values, strict=True)
    }
    found = statistics(reached, dict.fromkeys(items, about or metric()), models)
    return [found[item] for item in items]


def test_correlation_is_that_of_the_item_with_the_mean_of_the_others():
    """With complete data the corrected item-total correlation is the usual one."""
    values = np.random.default_rng(1).random((5, 6))
    found = related(values.tolist())

    for number, one in enumerate(found):
        rest = np.delete(values, number, axis=0).mean(axis=0)
        assert one.correlation == pytest.approx(np.corrcoef(values[number], rest)[0, 1])
        assert one.best == f"m{rest.argmax()}"


def test_reversed_item_is_found_by_hand():
    """An item on which models of rising score fall has the correlation -1."""
    first, second, third = related([[0, 0.2, 0.4, 0.6], [0.1, 0.3, 0.5, 0.7], [1, 0.9, 0.8, 0.7]])

    assert third.correlation == pytest.approx(-1)
    assert third.p == pytest.approx(0, abs=1e-6)
    assert third.best == "m3"
    assert first.correlation == pytest.approx(1)
    assert first.p == pytest.approx(1)
    assert second.correlation == pytest.approx(1)


def test_p_is_one_sided():
    """The one-sided test of a correlation gives the same p."""
    from scipy.stats import pearsonr

    values = np.random.default_rng(2).random((4, 9))
    for number, one in enumerate(related(values.tolist())):
        rest = np.delete(values, number, axis=0).mean(axis=0)
        expected = pearsonr(values[number], rest, alternative="less")
        assert one.p == pytest.approx(expected.pvalue)


def test_lower_scores_may_be_better():
    """For a metric of errors the model with the fewest errors on other items is the best."""
    found = related(
        [[3, 2, 1, 0], [6, 4, 2, 0], [0, 1, 2, 3]], about=metric(higher=False, bounds=(0.0, None))
    )
    assert found[2].correlation == pytest.approx(-1)
    assert found[2].best == "m3"


def test_models_without_hard_items_are_not_better_for_it():
    """A model that lacks the hard item is adjusted by its distance from other models.

    On the shared items, m3 is below the mean; by the plain mean of its values, it would be best.
    """
    found = related([[0.1, 0.2, 0.1, None], [0.9, 0.9, 0.9, 0.7], [0.5, 0.6, 0.5, 0.4]])
    assert found[1].best == "m1"


def test_too_few_models_and_constant_items_have_no_correlation():
    """A constant, or values of fewer than four models, have no correlation."""
    assert related([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])[0].correlation is None
    assert related([[1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4]])[0].correlation is None
    assert CORRELATED == 4


def test_cases_that_nobody_or_everybody_solves_are_found():
    """By f1 from 0.5 both models solve c2 in JSON-LD; by 1.1 nobody solves anything."""
    table = results(small()).items(solved=0.5)
    found = {(row["task"], row["case"]): row["finding"] for row in table}
    assert found["Pick-jsonld", "case/c2"] == "everybody solves it"
    assert found["Pick-turtle", "case/c2"] is None
    nobody = results(small()).items(solved=1.1)
    assert {row["finding"] for row in nobody if row["models"] == 2} == {"nobody solves it"}
    assert {row["finding"] for row in nobody if row["models"] == 1} == {None}
    assert all(table.iris["case"][str(case)] == iri(str(case)) for case in table.column("case"))


def test_values_of_a_case_are_those_of_the_graph():
    """Model A has 0.5 and model B 0 on c2 in Turtle; the dialogue is that of the better model."""
    table = results(small()).items(solved=0.5)
    (row,) = [r for r in table if (r["task"], r["case"]) == ("Pick-turtle", "case/c2")]
    assert (row["models"], row["n"], row["mean"], row["solved"]) == (2, 2, 0.25, 0.5)
    assert row["dialogue"] in ("run/r1/model-a/Pick-turtle/1-d1", "run/r1/model-b/Pick-turtle/1-d1")
    assert row["item_rest"] is None
    assert any("need at least 4 models; 2 have" in note for note in table.notes)


def test_without_threshold_nothing_is_solved_and_a_note_says_so():
    """Without a threshold, as for f1 in the small graph, nothing is solved and a note says so."""
    table = results(small()).items()
    assert set(table.where("task", "Pick-turtle").column("solved")) == {None}
    assert any("No success threshold is declared for f1" in note for note in table.notes)


def crowd(models, cases, seed=0):
    """Return an update that adds models with one score on each case; the last case is reversed."""
    draw = np.random.default_rng(seed)
    lines = []
    for m, ability in enumerate(draw.normal(size=models)):
        named = f'<model/x{m}> a kgb:Model ; <{SKOS.notation}> "x{m}"'
        lines.append(f"GRAPH <graph/catalogue> {{ {named} }}")
        for c in range(cases):
            slope = -3 if c == cases - 1 else 2
            value = float(draw.random() < 1 / (1 + np.exp(-slope * ability)))
            lines.append(
                f"GRAPH <graph/pass/p1> {{ <pass/p1/x{m}/{c}> kgb:model <model/x{m}> ;"
                f" kgb:task <{TASK}> ; kgb:case <case/x{c}> ; kgb:iteration {c} ; kgb:round 0 ;"
                f" kgb:dialogue <run/r1/x{m}/{c}> ; <metric/Pick/1.0/f1> {value:.1f}e0 }}"
            )
    return "INSERT DATA { " + "\n".join(lines) + " }"


def test_reversed_cases_come_first():
    """Among forty models, a case that better ones fail is found by its correlation."""
    found = results(altered(crowd(40, 12)), models="x*", tasks="Pick-turtle")
    first, *others = found.items(solved=1.0).records()
    assert first["case"] == "case/x11"
    assert first["finding"] == "better models score lower"
    assert first["item_rest"] < 0 < min(row["item_rest"] for row in others)
    suspect = found.items(solved=1.0, suspect=True)
    assert set(suspect.column("finding")) == {"better models score lower"}
