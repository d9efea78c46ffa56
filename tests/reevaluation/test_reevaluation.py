# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of own runs and of the published dialogues of LLM-KG-Bench 3."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pyoxigraph as ox
import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.reevaluation.passes import first_pass
from kgbench.run_selection import Selection
from kgbench.scores.selection import select
from kgbench.store import open_reader, open_store
from kgbench.vocab import KGB, PROV
from tests.support.reevaluating import reevaluate
from tests.support.runs import hold, planned
from tests.support.validation import assert_conforms

LOOP = ("RdfConnectionExplain*", "RdfFriendCount*", "RdfSyntaxFix*")
USED_ONCE = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?text (SAMPLE(?answer) AS ?one) WHERE { GRAPH ?g { ?answer a kgb:Answer ; kgb:text ?text } }
GROUP BY ?text HAVING (COUNT(?answer) = 1)
"""


def judge_again(store, tasks=LOOP):
    """Re-evaluate every run in a store and return the results, compared with the first pass."""
    found = []
    with executor("local") as pool:
        for run in reading.runs(store):
            chosen = Selection(tasks=tasks)
            found.append(reevaluate(store, run, pool, JudgeLimits(), selection=chosen))
    return found


def reports(found):
    """Return the reports of several re-evaluations without the names of their passes."""
    return [one.comparison.report() for one in found]


def evaluations(store, found):
    """Return all scores of re-evaluations by dialogue and round."""
    return [
        {
            (dialogue, k): seen.scores
            for dialogue, rounds in reading.pass_scores(store, graph(one)).items()
            for k, seen in rounds.items()
        }
        for one in found
    ]


def graph(one):
    """Return the graph of a re-evaluation's pass."""
    return one.evaluation_pass.replace("/pass/", "/graph/pass/")


@pytest.fixture
def small():
    """Yield a store with a run of three models over the three task classes."""
    labels = ["RdfFriendCount-xml-1", "RdfConnectionExplainStatic-jsonld", "RdfSyntaxFixList-nt"]
    models = ["baseline:oracle", "baseline:noisy?rate=0.8&seed=5", "baseline:silent"]
    plan = planned(labels, *models, iterations=4)
    with open_store("memory:") as store:
        hold(store, plan)
        yield store


def revised(store, one):
    """Return what a pass revises, and its own evaluations."""
    pattern = f"GRAPH <{graph(one)}> {{ ?new <{PROV.wasRevisionOf}> ?old }}"
    rows = list(store.query(f"SELECT ?new ?old {{ {pattern} }}"))
    return [{row[name].value for row in rows} for name in ("old", "new")]


def test_judging_again_changes_nothing(small):
    """Re-evaluations with the same code make conforming passes with the same values and infos.

    Each revises the one before; neither changes the leaderboard.
    """
    before = leaderboard(small, select(small)).rows
    (one,), (two,) = judge_again(small), judge_again(small)
    (run,) = reading.runs(small)
    live, *_ = passes = reading.passes(small, run)
    query = (
        "PREFIX kgb: <https://w3id.org/kgbench/ns#> SELECT ?d ?k ?o ?i WHERE {{ GRAPH <{}> "
        "{{ ?e kgb:dialogue ?d ; kgb:outcome ?o ; kgb:infos ?i OPTIONAL {{ ?e kgb:round ?k }} }} }}"
    )
    said, again = (
        Counter(tuple(map(str, row)) for row in small.query(query.format(name)))
        for name in (live.graph, graph(one))
    )
    first = {
        seen.evaluation
        for rounds in reading.pass_scores(small, live.graph).values()
        for seen in rounds.values()
    }

    assert_conforms(small)
    assert [found.kind for found in passes] == ["live", "reevaluation", "reevaluation"]
    assert (one.comparison.dialogues, one.comparison.differing) == (36, [])
    assert all(row["compared"] > 0 for row in one.comparison.report()["metrics"])
    assert said == again
    assert sum(said.values()) > 36
    (old, mine), (last, _) = revised(small, one), revised(small, two)
    assert (old, last) == (first, mine)
    for choice in ("first", "latest"):
        assert leaderboard(small, select(small, pass_=choice)).rows == before


def test_selection_limits_what_is_judged(small):
    """Globs over task labels and model ids select the dialogues."""
    (run,) = reading.runs(small)
    with executor("local:1") as pool:
        chosen = Selection(tasks=("RdfFriendCount*",), models=("baseline:silent",))
        one = reevaluate(small, run, pool, JudgeLimits(), selection=chosen)

    assert one.comparison.dialogues == 4


def test_interrupted_reevaluation_leaves_nothing(small):
    """An interrupted re-evaluation leaves neither a pass nor scores."""
    (run,) = reading.runs(small)
    before = sorted(
        row["g"].value for row in small.query("SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }")
    )

    def stop(count):
        if count == 20:
            raise KeyboardInterrupt

    with executor("local:1") as pool, pytest.raises(KeyboardInterrupt):
        reevaluate(small, run, pool, JudgeLimits(), watch=stop)
    after = sorted(
        row["g"].value for row in small.query("SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }")
    )

    assert after == before


@pytest.fixture(scope="module")
def published(external_data, tmp_path_factory):
    """Return the folder of a store with the four published archives."""
    password = json.loads((external_data / "passwords.json").read_text())["llm-kg-bench-v3"]
    place = tmp_path_factory.mktemp("published") / "store"
    dialogues = 0
    with open_store(str(place)) as store:
        for path in sorted((external_data / "llm-kg-bench-v3").glob("*.zip")):
            for file in open_results(path, password):
                for imported in read_runs(file, store.iris):
                    dialogues += load(store, imported).dialogues
    assert dialogues == 2080
    return place


@pytest.fixture
def copy(published, tmp_path):
    """Return a copy of that folder, which a test may alter."""
    shutil.copytree(published, tmp_path / "copy")
    return tmp_path / "copy"


def values(scores):
    """Return the scores of a published record by round (or ``None``) and published name."""
    if all(not isinstance(value, dict) for value in scores.values()):
        return {(0, name): float(value) for name, value in scores.items()}
    return {
        (int(group), name) if group.isdigit() else (None, f"{group}_{name}"): float(value)
        for group, named in scores.items()
        for name, value in named.items()
    }


@pytest.mark.external
def test_one_query_returns_every_published_score(external_data, published):
    """The query dialogue-scores returns each of the 33,104 values as published."""
    password = json.loads((external_data / "passwords.json").read_text())["llm-kg-bench-v3"]
    expected, found = {}, {}
    with open_reader(str(published)) as store:
        for path in sorted((external_data / "llm-kg-bench-v3").glob("*.zip")):
            for file in open_results(path, password):
                (run,) = read_runs(file, store.iris)
                for record, (dialogue, _) in zip(file.records(), run.items, strict=True):
                    expected[dialogue.iri] = values(record["scores"])
        for dialogue in expected:
            rows = queries.run(store, "dialogue-scores", dialogue=dialogue)
            found[dialogue] = {
                (row["round"] and int(row["round"].value), row["name"].value): float(
                    row["value"].value
                )
                for row in rows
                if row["name"] is not None
            }

    assert found == expected
    assert len(expected) == 2080
    assert sum(map(len, expected.values())) == 33_104


@pytest.mark.external
def test_published_scores_come_out_exactly(copy):
    """All scores of 1,200 of 1,200 dialogues are within 1e-9 of the published ones, twice."""
    with open_store(str(copy)) as store:
        before = leaderboard(store, select(store)).rows
        first = judge_again(store)
        second = judge_again(store)
        after = leaderboard(store, select(store)).rows

    assert sum(one.comparison.dialogues for one in first) == 1200
    assert [one.comparison.differing for one in first] == [[], [], [], []]
    assert reports(first) == reports(second)
    assert before == after


@pytest.mark.external
def test_altered_answers_are_found(published, copy):
    """If 50 answers are altered in a copy, the report lists exactly these 50 dialogues."""
    with open_reader(str(published)) as store:
        scored = {}
        for run in reading.runs(store):
            of_pass = reading.pass_scores(store, first_pass(store, run).graph)
            scored |= {d: rounds for d, rounds in of_pass.items() if any(rounds[0].scores.values())}
        once = {row["one"].value: row["text"].value for row in store.query(USED_ONCE)}
        wanted = {}
        for answer, text in sorted(once.items()):
            dialogue = answer.rpartition("/answer")[0].rpartition("/")[0]
            if dialogue in scored and any(
                f"/{name}" in dialogue for name in ("RdfConnection", "RdfFriend", "RdfSyntax")
            ):
                wanted.setdefault(dialogue, text)
    chosen = dict(sorted(wanted.items(), key=lambda item: hash_of(item[0]))[:50])
    raw = ox.Store(str(copy / "data"))
    for text in chosen.values():
        (quad,) = raw.quads_for_pattern(ox.NamedNode(text), ox.NamedNode(PROV.value), None)
        raw.remove(quad)
        altered = ox.Literal("https://abc.def/ghi/nobody and nothing\n" * 3)
        raw.add(ox.Quad(quad.subject, quad.predicate, altered, quad.graph_name))
    del raw
    (copy / "dirty").touch()
    with open_store(str(copy)) as store:
        found = judge_again(store)
    differing = {row["dialogue"] for one in found for row in one.comparison.differing}

    assert len(chosen) == 50
    assert differing == set(chosen)


@pytest.mark.external
def test_nothing_depends_on_published_scores(published, copy, tmp_path):
    """If all published scores are removed from a copy, the new pass is the same."""
    shutil.copytree(published, tmp_path / "other")
    raw = ox.Store(str(copy / "data"))
    for quad in list(raw):
        if "/graph/pass/" in str(quad.graph_name) and "/metric/" in quad.predicate.value:
            raw.remove(quad)
        if quad.predicate.value == KGB.infos:
            raw.remove(quad)
    del raw
    (copy / "dirty").touch()
    with open_store(str(tmp_path / "other")) as store:
        expected = evaluations(store, judge_again(store))
    with open_store(str(copy)) as store:
        found = evaluations(store, judge_again(store))

    assert found == expected
    assert sum(map(len, expected)) > 1200


def hash_of(text):
    """Return a sort key that is independent of the content."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()
