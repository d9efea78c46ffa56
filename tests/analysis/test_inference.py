# SPDX-License-Identifier: Apache-2.0
"""Every interval and every test names its estimand and its method, in words and in RDF."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from kgbench.analysis import compass
from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.stored_results import basis, store_table
from kgbench.analysis.task_scores import Row, estimate_means, task_scores
from kgbench.errors import QueryError, ResourceError
from kgbench.pages.score_tables import board
from kgbench.plots.standings import standings_figure
from kgbench.scores.inference import (
    AVAILABLE,
    USER_ESTIMANDS,
    find_estimand,
    inference,
    method,
)
from kgbench.scores.reading import Answers, Item
from kgbench.scores.selection import select
from kgbench.statistics.clusters import FEWEST_FOR_T, least_p
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import Bounds
from kgbench.vocab import KGB
from tests.analysis.test_own import PREFIXES
from tests.support.analysis_store import graph, iri, owned, results, small
from tests.support.validation import assert_conforms, violations

NOW = datetime(2026, 11, 20, tzinfo=UTC)
CLAIMS = {"ci_low", "p", "p_best", "p_holm", "micro_low", "half_width"}
#: Analyses with intervals or tests, and their arguments; the others have none.
ASKED_FOR = {
    "leaderboard": ("analysis_scores", {"significance": True}),
    "tasks": ("analysis_scores", {}),
    "dialogue": ("analysis_scores", {}),
    "items": ("analysis_scores", {}),
    "pairs": ("analysis_scores", {}),
    "contamination": ("analysis_scores", {}),
}
WITHOUT = {
    "aspects", "audit", "calibration", "compass", "disagreements", "outcomes",
    "policies", "published-means", "references", "reliability", "tools",
}  # fmt: skip
#: Analyses whose stores are made in other tests, which check the same.
ELSEWHERE = {
    "agreement", "difficulty", "format-preference", "judged-means", "scaling", "sizes", "text2kg",
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED_FOR)
def test_tables_name_what_their_intervals_and_tests_are_about(name):
    """Estimand and method stand in the context and, with the same label, in a note."""
    store, wanted = ASKED_FOR[name]
    opened = results(graph(store))
    table = ANALYSES[name](opened.store, opened.selection, **wanted)
    assert CLAIMS & set(table.names)
    by = str(table.context["method"])
    assert by == ("correlation" if name == "items" else "clustered")
    about = find_estimand(method(by).estimand or "cases")
    assert (table.context["estimand"], table.context["estimand_label"]) == (about.name, about.label)
    assert any(f"to {about.label}" in note for note in table.notes)


def test_no_analysis_is_forgotten():
    """Each analysis is checked here, or has no interval and no test."""
    assert {*ASKED_FOR, *WITHOUT, *ELSEWHERE} == set(ANALYSES)
    assert not CLAIMS & {column.name for column in compass.COLUMNS}
    for name in WITHOUT - {"compass"}:
        opened = results(small())
        table = ANALYSES[name](opened.store, opened.selection)
        assert not CLAIMS & set(table.names)


@pytest.mark.parametrize("about", [AVAILABLE, *USER_ESTIMANDS])
@pytest.mark.parametrize("name", ["tasks", "dialogue"])
def test_any_estimand_can_be_asked_for(name, about):
    """Means do not depend on the estimand; only `dialogues` treats dialogues as independent."""
    opened = results(small())
    table = ANALYSES[name](opened.store, opened.selection, estimand=about)
    assert table.context["estimand"] in (about, "cases" if about == "available" else about)
    assert table.context["method"] == ("independent" if about == "dialogues" else "clustered")
    shown = "gain" if name == "dialogue" else "mean"
    first = ANALYSES[name](opened.store, opened.selection)
    assert table.column(shown) == first.column(shown)
    with pytest.raises(QueryError, match="did you mean"):
        ANALYSES[name](opened.store, opened.selection, estimand=f"{about}s")


@pytest.fixture
def kept():
    """Yield a store with a kept leaderboard with tests and kept task scores."""
    with owned("analysis_scores") as store:
        chosen = select(store)
        for name, made in (("leaderboard", leaders), ("tasks", task_scores)):
            store_table(store, basis(store, chosen, ANALYSES[name], {}), made(store, chosen), NOW)
        yield store


def test_stored_analyses_declare_what_they_claim(kept):
    """Analysis and cube name estimand, method and levels; rows have clusters and bounds."""
    rows = kept.query(
        f"""PREFIX kgb: <{KGB}> PREFIX qb: <http://purl.org/linked-data/cube#>
        PREFIX prov: <http://www.w3.org/ns/prov#>
        SELECT ?name ?about ?how ?level ?alpha ?attributes WHERE {{ GRAPH ?g {{
          ?analysis kgb:analysisName ?name ; kgb:estimand ?about ; kgb:inferenceMethod ?how .
          ?set prov:wasGeneratedBy ?analysis ; kgb:estimand ?about ; kgb:inferenceMethod ?how ;
            kgb:confidenceLevel ?level .
          OPTIONAL {{ ?set kgb:significanceLevel ?alpha }}
          {{ SELECT ?set (COUNT(?attribute) AS ?attributes) WHERE {{ GRAPH ?g {{
            ?set qb:structure/qb:component ?component .
            ?component qb:attribute ?attribute ; qb:componentAttachment qb:DataSet }} }}
            GROUP BY ?set }} }} }} ORDER BY ?name"""
    )
    found = [tuple(None if v is None else v.value for v in row) for row in rows]
    cases, clustered = iri("estimand/cases"), iri("inference-method/clustered")
    assert found == [
        ("leaderboard", cases, clustered, "0.95", "0.05", "4"),
        ("tasks", cases, clustered, "0.95", None, "3"),
    ]
    measured = kept.query(
        f"""PREFIX kgb: <{KGB}> SELECT ?measure (COUNT(*) AS ?n) WHERE {{ GRAPH ?g {{
        ?o <http://purl.org/linked-data/cube#measureType> ?measure }} }} GROUP BY ?measure"""
    )
    numbers = {r["measure"].value.removeprefix(KGB): int(r["n"].value) for r in measured}
    assert numbers["clusterCount"] == numbers["lowerBound"] == numbers["upperBound"] == 8
    assert numbers["pValue"] == 2


def test_a_cube_without_its_estimand_is_refused():
    """The shapes reject a table with intervals that names no estimand."""
    with owned("result") as store:
        chosen = select(store, "kgbench-1")
        store_table(
            store, basis(store, chosen, ANALYSES["tasks"], {}), task_scores(store, chosen), NOW
        )
        assert_conforms(store)
        for term in (KGB.estimand, KGB.inferenceMethod):
            store.update(
                f"DELETE {{ GRAPH ?g {{ ?s <{term}> ?o }} }} WHERE {{ GRAPH ?g {{ "
                f"?s <{term}> ?o . ?s a <http://purl.org/linked-data/cube#DataSet> }} }}"
            )
        assert any("conform" in one for one in violations(store)), violations(store)


def test_a_score_set_declares_its_estimand(tmp_path):
    """A leaderboard has the estimand of its score set, unless another one is given."""
    own = tmp_path / "own.ttl"
    own.write_text(
        f"""{PREFIXES}@prefix estimand: <https://w3id.org/kgbench/estimand/> .
        <urn:mine> a kgb:ScoreSet ; skos:notation "mine" ; rdfs:label "Mine"@en ;
            dcterms:description "One."@en ; kgb:estimand estimand:tasks ;
            kgb:scoreSelector [ kgb:taskGlob "*" ] ."""
    )
    opened = results(small())
    mine = {"set": "mine", "declared": own}
    assert opened.leaderboard(significance=True, **mine).context["estimand"] == "tasks"
    board = opened.leaderboard(test="clustered", estimand="cases", **mine)
    assert board.context["estimand"] == "cases"
    assert opened.leaderboard(test="paired", **mine).context["estimand"] == "dialogues"
    assert opened.leaderboard(estimand="cases", **mine).context["estimand"] == "cases"
    with pytest.raises(QueryError, match="estimand: the paired test is about dialogues"):
        opened.leaderboard(test="paired", estimand="cases", **mine)
    own.write_text(own.read_text().replace("estimand:tasks", "estimand:task"))
    with pytest.raises(ResourceError, match="estimand/tasks"):
        opened.leaderboard(significance=True, **mine)


def test_methods_are_declared_with_what_they_are_about():
    """A published method keeps its own estimand, whatever is requested."""
    for name in ("paired", "formats", "student", "independent"):
        assert inference("cases", name).estimand.name == "dialogues"
    assert inference("repetitions").method.name == "clustered"
    assert [find_estimand(name).name for name in USER_ESTIMANDS] == [*USER_ESTIMANDS]
    with pytest.raises(QueryError, match="InferenceMethod 'guess'"):
        method("guess")


def cells(values):
    """Return values by item, from arrays of the cases of tasks."""
    return {
        Item(f"t{t}", f"c{c}"): Histogram.of(map(float, case))
        for t, task in enumerate(values)
        for c, case in enumerate(task)
    }


def test_a_claim_rests_on_cases():
    """Twenty answers to one case support no claim; twelve cases have the clustered error."""

    def claim(estimand, cases):
        return estimate_means(estimand, [Row(cases, Bounds(0.0, 1.0))])[0]

    alone = claim(find_estimand("cases"), cells([[[0.0, 1.0] * 10]]))
    assert (alone.number, alone.low, alone.missing) == (0, None, "one case")
    five = claim(find_estimand("cases"), cells([np.eye(5)]))
    assert (five.number, five.low, five.missing) == (5, None, "fewer than 6 cases")
    values = np.random.default_rng(3).integers(0, 2, (1, 12, 4))
    many = claim(find_estimand("cases"), cells(values))
    assert many.error == pytest.approx(values.mean(2)[0].std(ddof=1) / 12**0.5)
    assert many.low < many.mean < many.high
    again = claim(find_estimand("repetitions"), cells(values))
    within = values[0].var(axis=1, ddof=1)
    assert again.number == 48
    assert again.error == pytest.approx((within.sum() / 4) ** 0.5 / 12)
    naive = claim(find_estimand("dialogues"), cells(values))
    assert naive.error == pytest.approx(values.std(ddof=1) / 48**0.5)


@pytest.mark.parametrize("number", range(1, FEWEST_FOR_T + 1))
def test_the_least_p_is_that_of_equal_values(number):
    """No values of this number of clusters have a smaller p than equal values."""
    from scipy import stats

    if number < 2:
        assert least_p(number) == 1
    elif number < FEWEST_FOR_T:
        found = stats.permutation_test(
            (np.ones(number),), np.sum, permutation_type="samples", n_resamples=np.inf
        )
        assert least_p(number) == pytest.approx(found.pvalue)
    else:
        assert least_p(number) == 0


def test_pages_and_legends_name_the_estimand():
    """The leaderboard of a page and the legend of a figure name the estimand of intervals."""
    table = leaders(small(), select(small()))
    made = board(table, {})
    assert made.estimand == "cases of this kind"
    assert [place["between"] for place in made.places] == ["1 to 2 (a)", "1 to 2 (a)"]
    assert board(leaderboard(small(), select(small())), {}).estimand is None
    (axes,) = standings_figure(table).axes
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert any("cases of this kind" in " ".join(text.split()) for text in legend)


def test_memory_grows_with_cases_and_not_with_repetitions():
    """Repeated answers with the same score are stored as one value and one dialogue."""
    few, many = Answers(), Answers()
    for number in range(1000):
        many.add(0.5, 1, f"d{number:04}")
    few.add(0.5, 1000, "d0000")
    assert (many.counts, many.dialogues) == (few.counts, few.dialogues)
    assert (many.values.n, many.values.mean) == (1000, 0.5)
