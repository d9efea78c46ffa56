# SPDX-License-Identifier: Apache-2.0
"""Planning: power and variances by hand, by simulation, and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from kgbench.analysis import planning
from kgbench.analysis.planning import Claim, DeclaredVariances, by_model
from kgbench.cli import build_app
from kgbench.errors import QueryError
from kgbench.scores.reading import Answers, Item
from kgbench.scores.selection import select
from kgbench.statistics.clusters import Clusters, Sums
from kgbench.statistics.power import PairedTest, Variances, of_models
from kgbench.vocab import DCTERMS, PROV, XSD
from tests.support.analysis_store import altered, small

#: The variances of published LLM-KG-Bench 3 results, and a correlation for planning.
PUBLISHED = Variances(between=0.0286, within=0.0107, correlation=0.5)


def simulated(variances, *, cases, repetitions, models=2, tasks=1, seed=0, draws=None):
    """Return normal scores of these variances: draws x tasks x models x cases x repetitions."""
    random = np.random.default_rng(seed)
    shape = (draws or 1, tasks, models, cases)
    rho = variances.correlation
    common = random.normal(size=(draws or 1, tasks, 1, cases))
    own = random.normal(size=shape)
    effects = np.sqrt(variances.between) * (np.sqrt(rho) * common + np.sqrt(1 - rho) * own)
    noise = random.normal(size=(*shape, repetitions)) * np.sqrt(variances.within)
    return 0.5 + effects[..., None] + noise


def reached(scores):
    """Return simulated scores (tasks x models x cases x repetitions), by item and model."""
    found = {}
    for (t, m, c, r), value in np.ndenumerate(scores):
        models = found.setdefault(Item(f"t{t}", f"c{c}"), {})
        models.setdefault(f"m{m}", Answers()).add(float(value), 1, f"d{r}")
    return found


def components(items):
    """Return the variance components measured on values of items by model."""
    return of_models(by_model(items))


def test_variances_follow_by_hand():
    """Two cases asked twice have variance 0.02 within; their means 0.2 and 0.8 have 0.18."""
    scores = np.array([[[[0.1, 0.3], [0.7, 0.9]], [[0.2, 0.4], [0.4, 0.6]]]])
    found = components(reached(scores))

    assert found.components.within == pytest.approx(0.02)
    # The means of model 1 vary by 0.18, those of model 2 by 0.02; repetitions add 0.02 / 2.
    assert found.components.cases == pytest.approx((0.18 + 0.02) / 2 - 0.01)
    # Their covariance is 0.6 * 0.2 / 2.
    assert found.correlation == pytest.approx(0.06 / 0.09)
    assert (found.tasks, found.cases, found.models, found.pairs) == (1, 2, 2, 1)


def test_variances_of_simulated_scores_are_recovered():
    """Components estimated from 20 tasks with 40 cases are near the true ones."""
    found = components(
        reached(simulated(PUBLISHED, cases=40, repetitions=3, models=4, tasks=20)[0])
    )
    assert found.components.cases == pytest.approx(PUBLISHED.between, rel=0.1)
    assert found.components.within == pytest.approx(PUBLISHED.within, rel=0.1)
    assert found.correlation == pytest.approx(PUBLISHED.correlation, abs=0.05)


def test_variance_within_is_unknown_without_repetitions():
    """Without repetitions the variance within is unknown; only one repetition can be planned."""
    found = components(reached(simulated(PUBLISHED, cases=10, repetitions=1)[0])).components
    assert found.within is None
    planned = Variances(found.cases, found.within)
    assert planned.of_difference(1) > 0
    assert planned.of_difference(2) is None


def test_tasks_with_one_case_say_nothing_of_others():
    """Tasks with one case are left out; without other tasks nothing can be measured."""
    one = reached(simulated(PUBLISHED, cases=1, repetitions=5)[0])
    with pytest.raises(QueryError, match="no task has scores on two cases"):
        components(one)
    several = reached(simulated(PUBLISHED, cases=3, repetitions=2)[0])
    renamed = {item._replace(task="alone"): by_model for item, by_model in one.items()}
    assert components({**several, **renamed}).left_out == 1
    assert components({**several, **renamed}).components == components(several).components


def test_cases_are_the_fewest_that_suffice():
    """One case fewer has too little power, and the detectable difference is the planned one."""
    variance, test = PUBLISHED.of_difference(4), PairedTest()
    cases = test.cases(variance, 0.05, 0.8)
    assert test.power(variance, cases, 0.05) >= 0.8 > test.power(variance, cases - 1, 0.05)
    assert test.difference(variance, cases, 0.8) <= 0.05 < test.difference(variance, cases - 1, 0.8)
    assert test.difference(variance, 1, 0.8) is None


@pytest.mark.parametrize("cases", [10, 11, 30, 200])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.8, 4.0])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_power_is_that_of_the_noncentral_t_distribution(cases, shift, alpha):
    """The power equals that of scipy.stats, if scipy returns a number."""
    from scipy.stats import nct, t

    critical = t.ppf(1 - alpha / 2, cases - 1)
    expected = nct.sf(critical, cases - 1, shift) + nct.cdf(-critical, cases - 1, shift)
    found = PairedTest(alpha).power(float(cases), cases, shift)
    assert found == pytest.approx(expected, abs=1e-4)


def test_power_is_a_number_for_any_difference():
    """Large differences are detected with certainty, but not by too few cases."""
    assert PairedTest().power(1e-4, 6, 0.5) == pytest.approx(1)
    assert PairedTest().power(1e-9, 100, 0.5) == pytest.approx(1)
    assert PairedTest().power(1e-9, 5, 0.5) == 0
    assert PairedTest(alpha=0.01).power(1e-9, 7, 0.5) == 0


def test_published_plan_is_found():
    """The published plan is found: 157 cases asked once, 106 asked four times (approximately).

    It uses the normal approximation; the t distribution needs a few more.
    """
    table = planning.plan(Claim(0.05), DeclaredVariances(0.0286, 0.0107, 0.5), repetitions=[1, 4])
    assert table.column("cases") == [159, 109]
    assert table.column("dialogues") == [159, 436]
    table = planning.plan(Claim(0.1), DeclaredVariances(0.0286, 0.0107, 0.5), repetitions=[1, 4])
    assert table.column("cases") == [42, 29]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (Claim(0.0), "greater than 0"),
        (Claim(float("nan")), "greater than 0"),
        (Claim(0.1, power=1.0), "alpha < power < 1"),
        (Claim(0.1, power=0.01), "alpha < power < 1"),
        (Claim(0.1, alpha=0.0), "alpha < power < 1"),
        (Claim(1e-6), "more than 10,000,000 cases"),
    ],
)
def test_claims_that_no_test_reaches_are_refused(claim, message):
    """A claim that no number of cases can support is refused."""
    with pytest.raises(QueryError, match=message):
        planning.plan(claim, DeclaredVariances(0.03, 0.01))


def test_without_variance_six_cases_suffice():
    """Without variance, the planned cases are the fewest for which the test reaches the level."""
    assert planning.plan(Claim(0.1), DeclaredVariances(0.03, 0.0, 1.0)).column("cases") == [6] * 4
    assert planning.plan(Claim(0.1), DeclaredVariances(1e-12, 0.0)).column("cases") == [6] * 4
    strict = planning.plan(Claim(0.1, alpha=0.01), DeclaredVariances(1e-12, 0.0))
    assert strict.column("cases") == [8] * 4
    assert any("needs at least 8 cases for a p below 0.01" in note for note in strict.notes)


@pytest.mark.parametrize(
    ("cases", "tasks"), [(6, 1), (8, 2), (9, 1), (10, 1), (12, 3), (30, 10), (109, 1)]
)
def test_the_planned_power_is_that_of_the_test_of_compare(cases, tasks):
    """In 1,000 comparisons by the clusters that `compare` uses, the planned share is found."""
    test, variance = PairedTest(tasks=tasks), PUBLISHED.of_difference(2)
    difference = test.difference(variance, cases, 0.8)
    random = np.random.default_rng([cases, tasks])
    draws = difference + random.normal(size=(1000, cases)) * np.sqrt(variance)
    strata, ones = (np.arange(cases) % tasks).tolist(), np.ones(cases)

    def significant(values):
        return [one.p < 0.05 for one in Clusters.each([Sums(strata, ones, row) for row in values])]

    found = significant(draws)
    assert 0.76 < np.mean(found) < 0.84
    null = significant(draws - difference)
    assert np.mean(null) < 0.072


def test_five_cases_find_nothing_and_say_so():
    """Five cases cannot reach the level: no detectable difference, and the smallest possible p."""
    test = PairedTest()
    assert (test.least, test.difference(1e-6, 5, 0.8)) == (6, None)
    asked = {"A": [4] * 5, "B": [20]}
    found = planning.undetectable(asked)
    assert (found.difference, found.cases, found.tasks) == (None, 5, 1)
    assert found.reason == "the test of 5 cases never gives a p below 0.0625"
    assert planning.detectable(small(), select(small()), asked) == found
    assert "no task has several cases" in planning.undetectable({"B": [20]}).reason
    assert planning.undetectable({"A": [1] * 6}) is None


def test_store_without_repetitions_plans_one_try():
    """The small graph has three tasks of two models, each with three cases asked once."""
    store = small()
    table = planning.plan_from(store, select(store), Claim(0.2), metric="brevity")
    assert table.column("repetitions") == [1, 2, 4, 8]
    assert table.column("cases")[1:] == [None] * 3
    assert table.context["tasks"] == 2
    assert any("No case was repeated" in note for note in table.notes)
    assert any("Unknown for a dialogue: tokens read" in note for note in table.notes)


def test_detectable_difference_is_the_one_that_the_cases_are_planned_for():
    """The detectable difference of a configuration is the one that its cases are planned for."""
    store = small()
    chosen = select(store, tasks="Pick-*")
    (row,) = planning.plan_from(store, chosen, Claim(0.4), repetitions=[1], metric="f1").records()
    half = row["cases"] // 2
    asked = {"Pick-turtle": [1] * half, "Pick-jsonld": [1] * (row["cases"] - half)}
    found = planning.detectable(store, chosen, asked)
    assert found.difference == pytest.approx(0.4, rel=0.05)
    assert found.difference <= 0.4
    assert (found.cases, found.tasks) == (row["cases"], 2)


def test_nothing_is_detectable_without_knowledge():
    """Without results of a task, or of a number of repetitions, nothing is detectable."""
    store = small()
    chosen = select(store)
    assert planning.detectable(store, chosen, {"Other": [1] * 6}) is None
    assert planning.detectable(store, chosen, {"Pick-turtle": [2] * 6}) is None


def test_effort_is_the_mean_of_models_over_all_their_dialogues():
    """The effort per dialogue is the mean over all dialogues of the models.

    Model A reads 100 and writes 10 tokens in each of 9 dialogues, at 2 and 10 USD a million.
    The session took 180 seconds, in which 17 dialogues of both models were completed.
    """
    store = altered(
        "DELETE WHERE { GRAPH <graph/run/r1> { ?call a kgb:ModelCall } }",  # without tokens
        f"""
        INSERT {{ GRAPH <graph/run/r1> {{
            ?call a kgb:ModelCall ; <{PROV.wasAssociatedWith}> <model/model-a> ;
                <{DCTERMS.isPartOf}> ?dialogue ; kgb:inputTokens 100 ; kgb:outputTokens 10 }} }}
        WHERE {{ GRAPH <graph/run/r1> {{
            ?dialogue a kgb:Dialogue ; kgb:model <model/model-a> .
            BIND(IRI(CONCAT(STR(?dialogue), "/call")) AS ?call) }} }}
        """,
        f"""
        INSERT DATA {{ GRAPH <graph/run/r1> {{
            <run/r1/session/0> <{PROV.endedAtTime}> "2026-11-20T10:03:00Z"^^<{XSD.dateTime}> ;
                kgb:price <price> .
            <price> kgb:model <model/model-a> ; kgb:inputPrice 2.0 ; kgb:outputPrice 10.0 ;
                kgb:cachedPrice 2.0 ; <{DCTERMS.date}> "2026-11-01"^^<{XSD.date}> ;
                <{DCTERMS.source}> <https://example.org/prices> }} }}
        """,
    )
    found = planning.effort(store, select(store))
    assert (found.input_tokens, found.output_tokens) == (100, 10)
    assert found.cost_usd == pytest.approx(100 * 2e-6 + 10 * 10e-6)
    assert found.seconds == pytest.approx(180 / 17)
    assert found.of(17) == (1700, 170, pytest.approx(17 * 0.0003), pytest.approx(0.05))


def test_command_line_plans_from_results_and_declarations(tmp_path):
    """``plan`` uses a run's tokens, cost and time, or declared values; the store is unchanged."""
    runner, folder = CliRunner(), tmp_path / "store"
    app = build_app(["run", "plan", "status"])
    config = tmp_path / "plan.yaml"
    config.write_text(
        'tasks: ["Text2KG-sample"]\n'
        'models: ["baseline:oracle", "baseline:noisy?rate=0.6&seed=7"]\niterations: 8\n'
    )
    ran = runner.invoke(app, ["run", str(config), "--store", str(folder)])
    assert ran.exit_code == 0, ran.output
    before = sorted((p.name, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file())
    asked = ["plan", "--detect", "0.2", "--from", "kgbench-1", "--store", str(folder), "--json"]
    said = runner.invoke(app, asked)
    assert said.exit_code == 0, said.output
    rows = json.loads(said.output)["rows"]
    assert rows[0]["cases"] >= 2
    assert rows[0]["hours"] > 0
    assert rows[0]["cost_usd"] == 0
    assert (
        sorted((p.name, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()) == before
    )

    wide = {"COLUMNS": "200"}
    said = runner.invoke(app, ["plan", "--detect", "0.2", "--store", str(folder)], env=wide)
    assert said.exit_code == 2
    assert "such as --from kgbench-1, or give --between and --within" in said.output
    shown = ["plan", "--detect", "0.05", "--from", "kgbench-1"]
    said = runner.invoke(app, [*shown, "--store", str(folder)])
    assert said.exit_code == 0, said.output
    refused = runner.invoke(app, [*asked[:4], "nothing", *asked[5:]])
    assert isinstance(refused.exception, QueryError)
    assert "'nothing' is neither a suite nor a run" in str(refused.exception)
    dry = ["run", str(config), "--store", str(folder), "--new", "--dry-run"]
    assert "never gives a p below 0.125; see kgbench plan" in runner.invoke(app, dry).output
    found = json.loads(runner.invoke(app, [*dry, "--json"]).output)["detectable"]
    assert (found["difference"], found["cases"], found["tasks"]) == (None, 4, 1)
    config.write_text(config.read_text().replace("Text2KG-sample", "RdfFriendCount-turtle-1"))
    ran = runner.invoke(app, ["run", str(config), "--store", str(folder)])
    assert ran.exit_code == 0, ran.output
    assert "Can detect a difference of " in runner.invoke(app, dry).output
    found = json.loads(runner.invoke(app, [*dry, "--json"]).output)["detectable"]
    assert (found["cases"], found["tasks"]) == (8, 1)
    assert found["difference"] > 0
    elsewhere = [*dry[:3], str(tmp_path / "none"), *dry[4:], "--json"]
    assert json.loads(runner.invoke(app, elsewhere).output)["detectable"] is None
    declared = ["plan", "--detect", "0.05", "--between", "0.0286", "--within", "0.0107"]
    said = runner.invoke(app, [*declared, "--repetitions", "1", "--format", "csv"])
    assert said.output.splitlines()[1].startswith("1,249,249,249")
