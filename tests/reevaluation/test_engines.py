# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of all 2,080 published dialogues by both engines in killable child processes."""

from __future__ import annotations

import json

import pytest

from kgbench.datasets import home
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.reevaluation import causes
from kgbench.store import open_store
from kgbench.tasks import graphs
from tests.support.reevaluating import reevaluate

pytestmark = pytest.mark.external

LIMIT = """
PREFIX kgb: <https://w3id.org/kgbench/ns#>
SELECT DISTINCT ?d WHERE {{ GRAPH <{}> {{
  ?e kgb:dialogue ?d ; kgb:outcome <https://w3id.org/kgbench/outcome/timeout> }} }}
"""


@pytest.fixture(scope="module")
def everything(external_data, tmp_path_factory):
    """Yield a store in memory with the four archives; the large graph is installed."""
    place = tmp_path_factory.mktemp("datasets")
    password = json.loads((external_data / "passwords.json").read_text())["llm-kg-bench-v3"]
    with pytest.MonkeyPatch.context() as patch, open_store("memory:") as store:
        patch.setenv(home.VARIABLE, str(place))
        graphs.install(external_data / "text2sparql")
        for path in sorted((external_data / "llm-kg-bench-v3").glob("*.zip")):
            for file in open_results(path, password):
                for imported in read_runs(file, store.iris):
                    load(store, imported)
        yield store


def judge_again(store, limits):
    """Re-evaluate every run; return the number compared, the differing and the late dialogues."""
    compared, differing, late = 0, [], set()
    with executor("local") as pool:
        for run in reading.runs(store):
            found = reevaluate(store, run, pool, limits)
            assert found.passed_over == {}
            compared += found.comparison.dialogues
            differing += found.comparison.differing
            graph = found.evaluation_pass.replace("/pass/", "/graph/pass/")
            late |= {row["d"].value for row in store.query(LIMIT.format(graph))}
    return compared, differing, late


def test_default_engine_differs_in_one_percent_at_most_and_says_why(everything):
    """At most 20 of 2,080 dialogues differ, and each has a cause."""
    compared, differing, _ = judge_again(everything, JudgeLimits())
    kinds = (causes.STRICTER, causes.SCOPE, causes.LAXER, causes.LIMIT, causes.SEMANTICS)

    assert compared == 2080
    assert len(differing) <= 20
    assert all(str(one["cause"]).startswith(kinds) for one in differing), differing


def test_rdflib_gives_every_published_score(everything):
    """With rdflib all scores are as published, except where a query hits the time limit."""
    limits = JudgeLimits(seconds=10, engine="rdflib")
    compared, differing, late = judge_again(everything, limits)

    assert compared == 2080
    assert {one["dialogue"] for one in differing} <= late
    assert len(late) < 21
