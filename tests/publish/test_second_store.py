# SPDX-License-Identifier: Apache-2.0
"""A published dump and query give the same leaderboard in another store."""

from __future__ import annotations

import re
import urllib.request
from collections import defaultdict
from math import fsum

import pyoxigraph as ox
import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.record import reading
from kgbench.scores import catalogue
from kgbench.scores.selection import select
from kgbench.store import open_reader
from tests.publish.reading import unpacked
from tests.store.servers import Oxigraph

RESULTS = "application/sparql-results+json"
MODEL = re.compile(r"<https://w3id\.org/kgbench/model/")


def used(store):
    """Return the tasks of the dialogues of a store."""
    return {e.task for run in reading.runs(store) for e in reading.executions(store, run.graph)}


def sent(url, body, media, accept="*/*"):
    """Return the response of a server to a body."""
    headers = {"Content-Type": media, "Accept": accept}
    with urllib.request.urlopen(
        urllib.request.Request(url, body, headers, method="POST"), timeout=60
    ) as response:
        return response.read()


@pytest.mark.servers
def test_dump_gives_the_same_leaderboard_elsewhere(recorded, site, tmp_path):
    """The published query gives the same means on a SPARQL server, within 1e-9."""
    (dump,) = (site / "data").glob("all.nq*")
    with open_reader(str(recorded)) as store:
        table = leaderboard(store, select(store))
        main = {catalogue.tasks(store)[task].main_metric for task in used(store)}
    query = next(
        path
        for path in (site / "queries").glob("score-histograms-*.rq")
        if not MODEL.search(path.read_text(encoding="utf-8"))  # of all models
    )
    with Oxigraph(tmp_path / "server") as server:
        sent(f"{server.url}/store", unpacked(dump), "application/n-quads")
        said = sent(f"{server.url}/query", query.read_bytes(), "application/sparql-query", RESULTS)
    counts = defaultdict(list)
    for row in ox.parse_query_results(said, ox.QueryResultsFormat.JSON):
        if row["metric"].value not in main:
            continue
        model, task = row["model"].value, row["task"].value
        number = int(row["count"].value)
        counts[model, task] += [float(row["value"].value)] * number
    means = defaultdict(list)
    for (model, _), values in counts.items():
        means[re.sub(r".*/model/", "", model)].append(fsum(values) / len(values))
    there = {model: fsum(found) / len(found) for model, found in means.items()}
    here = {
        re.sub(r".*/model/", "", table.iris["model"][str(row[1])]): row[2] for row in table.rows
    }

    assert len(here) == 2
    assert there == pytest.approx(here, abs=1e-9)
