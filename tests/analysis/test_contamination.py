# SPDX-License-Identifier: Apache-2.0
"""Published cases compared with their twins, for models with and without memorised answers."""

from __future__ import annotations

import pytest

from kgbench.analysis.contamination import contamination, declared
from kgbench.connectors import baseline
from kgbench.errors import QueryError
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.tasks import catalogue
from tests.support.runs import hold, planned

PUBLISHED = "Text2SparqlExecEvalListCoypuMini"
NATURAL, OPAQUE = "Text2SparqlTwin-economy-natural", "Text2SparqlTwin-economy-opaque"
REMEMBERS, FAIR = "baseline:noisy?rate=0", "baseline:noisy?rate=0.7&seed=2"
CASES = 14


def run(store, tasks, *models, iterations=CASES):
    """Run some tasks with models."""
    hold(store, planned(tasks, *models, iterations=iterations), run=None)


@pytest.fixture(scope="module")
def store():
    """Yield a store with a run of the oracle, a model with memorised answers, and a fair model."""
    task = catalogue.labelled_tasks()[PUBLISHED]
    module = catalogue.module(PUBLISHED)
    memory = {case.uid: module.reference(case) for case in module.cases(task, "any", 0, 100)}
    best = baseline.Baseline._best

    def answer(self, request, chance):
        remembers = self._name == "noisy" and self._rate == 0
        return memory[request.case.uid] if remembers else best(self, request, chance)

    with pytest.MonkeyPatch.context() as patch, open_store("memory:") as opened:
        patch.setattr(baseline.Baseline, "_best", answer)
        run(opened, [PUBLISHED, NATURAL, OPAQUE], "baseline:oracle", REMEMBERS, FAIR)
        yield opened


def rows(store, **wanted):
    """Return the rows of the analysis by model and names of twins."""
    found = contamination(store, select(store), **wanted).records()
    return {(row["model"], row["names"]): row for row in found}


def test_rows_are_of_declared_twins(store):
    """Each model has a row for each task with twins, and pairs for all cases."""
    found = rows(store)
    assert set(found) == {
        (model, names)
        for model in ("baseline:oracle", REMEMBERS, FAIR)
        for names in ("natural", "opaque")
    }
    for row in found.values():
        assert (row["task"], row["metric"], row["paired"]) == (PUBLISHED, "max_combined", "yes")
        assert row["n_published"] == row["n_twin"] == row["clusters"] == CASES
        assert row["difference"] == pytest.approx(row["mean_published"] - row["mean_twin"])
    assert len(declared(store)) == 2


def test_the_oracle_differs_nowhere(store):
    """The oracle has difference 0, in the middle of an interval of positive width."""
    for names in ("natural", "opaque"):
        row = rows(store)["baseline:oracle", names]
        assert (row["mean_published"], row["difference"], row["p"]) == (1.0, 0.0, 1.0)
        assert row["ci_low"] < 0 < row["ci_high"]


def test_a_taker_that_remembers_is_found(store):
    """Memorised answers are right on published cases and wrong under new names."""
    for names in ("natural", "opaque"):
        row = rows(store)[REMEMBERS, names]
        assert row["mean_published"] == 1.0
        assert row["difference"] > 0.2
        assert row["ci_low"] > 0
        assert row["p"] < 0.05


def test_a_taker_that_is_as_good_on_both_is_not_accused(store):
    """Mistakes that do not depend on names give an interval that contains 0."""
    for names in ("natural", "opaque"):
        row = rows(store)[FAIR, names]
        assert 0 < row["mean_published"] < 1
        assert row["ci_low"] < 0 < row["ci_high"]


def test_metrics_and_rounds_can_be_chosen(store):
    """The score of first answers is named with its round; an unknown metric is refused."""
    assert {row["metric"] for row in rows(store, round="first").values()} == {"0_combined"}
    with pytest.raises(QueryError, match="no task that matches"):
        contamination(store, select(store), metric="nothing")
    with pytest.raises(QueryError, match="treats dialogues as independent"):
        contamination(store, select(store), estimand="dialogues")


def test_twins_without_partners_are_left_out_and_told():
    """If there are more twins than cases, a note counts the twins without a partner."""
    with open_store("memory:") as opened:
        run(opened, [PUBLISHED], "baseline:oracle", iterations=6)
        run(opened, [NATURAL], "baseline:oracle", iterations=20)
        table = contamination(opened, select(opened))
        (row,) = table.records()
        assert (row["n_published"], row["n_twin"], row["clusters"]) == (6, 12, 6)
        assert any("leaves out 8 dialogues" in note for note in table.notes)


def test_cases_without_names_in_common_are_compared_unpaired():
    """Twins of other cases are compared unpaired, with clusters of their own on both sides."""
    with open_store("memory:") as opened:
        run(opened, [PUBLISHED, NATURAL], "baseline:oracle", FAIR)
        opened.update(
            "PREFIX kgb: <https://w3id.org/kgbench/ns#> "
            "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
            "DELETE { GRAPH ?g { ?case skos:notation ?name } } "
            "WHERE { GRAPH ?g { ?case a kgb:Case ; skos:notation ?name } }"
        )
        table = contamination(opened, select(opened), metric="max_combined")
        row = next(row for row in table.records() if row["model"] == FAIR)
        assert (row["paired"], row["clusters"]) == ("no", 2 * CASES)
        assert row["ci_low"] < 0 < row["ci_high"]
        assert f"so these are not paired: {PUBLISHED}." in table.notes[-1]
