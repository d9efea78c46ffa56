# SPDX-License-Identifier: Apache-2.0
"""Reliability: pass@k, pass^k and agreement, by hand and by enumeration."""

from __future__ import annotations

from itertools import combinations

import pytest

from kgbench.analysis.reliability import Reliability, pass_all, pass_at
from kgbench.errors import QueryError
from kgbench.scores.catalogue import MetricInfo, metrics
from tests.support.analysis_store import altered, iri, results, small

#: Cases c1 and c2 become one case with two repetitions.
REPEATED = """
    DELETE { GRAPH ?g { ?evaluation kgb:case <case/c2> } }
    INSERT { GRAPH ?g { ?evaluation kgb:case <case/c1> } }
    WHERE { GRAPH ?g { ?evaluation kgb:case <case/c2> } }
"""


@pytest.mark.parametrize("n", range(1, 7))
def test_estimators_are_the_means_over_all_draws(n):
    """Both estimators are the shares among all ways to draw k of the n repetitions."""
    for solved in range(n + 1):
        tries = [True] * solved + [False] * (n - solved)
        for k in range(1, n + 1):
            draws = list(combinations(tries, k))
            assert pass_at(k, n, solved) == pytest.approx(sum(map(any, draws)) / len(draws))
            assert pass_all(k, n, solved) == pytest.approx(sum(map(all, draws)) / len(draws))
        assert pass_at(n + 1, n, solved) is None
        assert pass_all(n + 1, n, solved) is None


def test_cases_count_equally_whatever_their_repetitions():
    """Of cases with 1 of 2, 2 of 2 and 0 of 1 solved, the last has too few for k = 2."""
    found = Reliability.of([(2, 1), (2, 2), (1, 0)], k=2)

    assert (found.cases, found.enough, found.n, found.repetitions) == (3, 2, 5, 1)
    assert found.once == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found.at_least_one == pytest.approx(1)
    assert found.all_of_them == pytest.approx(1 / 2)
    assert found.agree == pytest.approx(1 / 2)


def test_tasks_count_equally_whatever_their_cases():
    """Over tasks, each share is the mean over the tasks that have it."""
    first = Reliability.of([(2, 2), (2, 0), (2, 1)], k=2)
    second = Reliability.of([(1, 1)], k=2)
    both = Reliability.over([first, second])

    assert both.once == pytest.approx((1 / 2 + 1) / 2)
    assert both.all_of_them == first.all_of_them == pytest.approx(1 / 3)
    assert both.agree == first.agree == pytest.approx(2 / 3)
    assert (both.tasks, both.cases, both.n) == (2, 4, 7)


def test_repetitions_of_a_case_are_pooled_in_a_store():
    """Model A solves c1 at 1.0 and 0.5, and c3 at 0.33, by a threshold of 0.5 and of 0.6."""
    table = results(altered(REPEATED)).reliability(k=2, solved=0.5)
    (row,) = [r for r in table if (r["task"], r["model"]) == ("Pick-turtle", "Model A")]
    assert (row["cases"], row["cases_k"], row["repetitions"], row["n"]) == (2, 1, 1, 3)
    assert (row["pass_1"], row["pass_at_k"], row["pass_all_k"]) == (0.5, 1.0, 1.0)
    assert row["agree"] == 1.0
    table = results(altered(REPEATED)).reliability(k=2, solved=0.6)
    (row,) = [r for r in table if (r["task"], r["model"]) == ("Pick-turtle", "Model A")]
    assert (row["pass_1"], row["pass_at_k"], row["pass_all_k"], row["agree"]) == (0.25, 1.0, 0.0, 0)


def test_too_few_repetitions_leave_cells_empty_and_say_so():
    """Without repetitions there is no pass@2, and a note counts the cases that lack them."""
    table = results(small()).reliability(k=2, solved=0.5)
    assert set(table.column("pass_at_k")) == set(table.column("pass_all_k")) == {None}
    assert set(table.column("agree")) == {None}
    assert any("16 of 16 cases" in note for note in table.notes)


def test_thresholds_are_those_of_the_metrics():
    """A metric's own threshold is used; without threshold and range there is a note, and no row."""
    table = results(small()).reliability(k=1)
    assert set(table.where("task", "Mend-turtle").column("threshold")) == {0.9}
    assert not len(table.where("task", "Pick-turtle"))
    assert any("No success threshold is declared for f1" in note for note in table.notes)
    assert results(small()).reliability(k=1, metric="brevity").rows == ()


def test_success_is_the_best_of_the_range_unless_declared():
    """The direction decides which end of the range is success; rounding does not matter."""
    read = metrics(small())
    assert read[iri("metric/Mend/2.0/max_combined")].success == 0.9
    assert read[iri("metric/Mend/2.0/combined")].success == 1.0
    assert read[iri("metric/Pick/1.0/f1")].success is None
    lower = MetricInfo(
        "m",
        "error",
        "c",
        higher_is_better=False,
        aggregation=None,
        base=None,
        bounds=read[iri("metric/Mend/2.0/combined")].bounds,
    )
    assert lower.success == 0.0
    assert lower.succeeds(1e-12, 0.0)
    assert not lower.succeeds(0.1, 0.0)
    assert read[iri("metric/Mend/2.0/combined")].succeeds(0.9999999999999998, 1.0)


def test_common_tasks_alone_count_where_wanted():
    """With ``common``, models are compared on the tasks on which all of them were scored."""
    left = """
        DELETE WHERE { GRAPH <graph/pass/p1> {
            ?e kgb:task <task/Mend/2.0/Mend-turtle/cc33> ; kgb:model <model/model-b> ; ?p ?o } }
    """
    store = altered(left)
    table = results(store).reliability(k=1, solved=0.5, common=True)
    assert set(table.column("task")) == {"Pick-jsonld", "Pick-turtle", "All tasks"}
    assert any("2 tasks that all 2 models" in note for note in table.notes)


def test_no_tries_is_refused():
    """A number of tries below 1 is refused."""
    with pytest.raises(QueryError, match="k: 0 is not in the range"):
        results(small()).reliability(k=0)
