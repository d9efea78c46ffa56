# SPDX-License-Identifier: Apache-2.0
"""The kinds of stores that tests make, one of each, for promises that hold in every store."""

from __future__ import annotations

import json

import pytest

from kgbench.store import EmbeddedStore, open_reader
from tests.support import text2kg_data, text2sparql_data
from tests.support.analysis_store import GRAPHS, GraphStore, altered, graph
from tests.support.archives import dialogue_v3, record_v1, record_v2, record_v3, write_json
from tests.support.commands import printed
from tests.support.judge_runs import ask, judged_run
from tests.support.published import imported
from tests.support.runs import hold
from tests.support.tool_runs import plan_of


def succeeded(*_):
    """Return the small store with a pass that judged by a later version of the class Pick."""
    early, late = "<metric/Pick/1.0/f1>", "<metric/Pick/2.0/f1>"
    return altered(
        f"DELETE {{ GRAPH ?g {{ ?e {early} ?value }} }} "
        f"INSERT {{ GRAPH ?g {{ ?e {late} ?value }} }} "
        f"WHERE {{ GRAPH ?g {{ ?e {early} ?value ; kgb:model <model/model-b> }} }}",
        f"INSERT {{ GRAPH ?g {{ {late} kgb:supersedes {early} }} }} "
        f"WHERE {{ GRAPH ?g {{ ?pass a kgb:EvaluationPass }} }}",
    )


def command(name, write):
    """Return a function that writes files to a folder and imports them by a command."""

    def made(folder):
        printed("import", name, write(folder / "data"), "--store", folder / "store")
        return open_reader(str(folder / "store"))

    return made


def faults(name):
    """Return a function that imports a file of results with unequal numbers of answers."""

    def made(folder, data):
        return command("llm-kg-bench", lambda _: data / "faults" / "numbers" / name)(folder)

    return made


def generation(name):
    """Return a function that imports a published generation of LLM-KG-Bench."""

    def made(_, data):
        passwords = json.loads((data / "passwords.json").read_text())
        return imported(data / name, passwords.get(name))

    return made


def records(path):
    """Write results of three generations to a file, and return it."""
    each = [record_v1(), record_v2(), record_v3(), dialogue_v3()]
    return write_json(path.with_suffix(".json"), each)


def judged(*_):
    """Return a store with a run of two models and a judge's verdicts on it."""
    store = EmbeddedStore(None)
    run = judged_run(store, "baseline:oracle", "baseline:noisy?rate=0.5&seed=3")
    ask(store, run, "correctness", "baseline:oracle")
    return store


def with_tools(*_):
    """Return a store with dialogues in which models call tools."""
    store = EmbeddedStore(None)
    hold(store, plan_of("baseline:oracle", "baseline:silent", iterations=2))
    return store


FRAGMENTS = ("claims", "formats", "policies", "records", "text2kg", "withheld")
"""Graphs for single queries, without the run of a suite or the times of its passes."""
MADE = {
    **{
        path.stem: lambda *_, name=path.stem: graph(name)
        for path in GRAPHS.glob("*.trig")
        if path.stem not in FRAGMENTS
    },
    "by successors": succeeded,
    "invalidated": lambda *_: altered(
        "INSERT DATA { GRAPH <graph/invalidation/x> { <invalidation/x> kgb:invalidates "
        "<run/r1/model-a/Pick-turtle/0-d0> } }"
    ),
    "records": command("llm-kg-bench", records),
    "text2kgbench": command("text2kgbench", text2kg_data.write),
    "text2sparql": command("text2sparql", text2sparql_data.write_challenge),
    "judged run": judged,
    "tools": with_tools,
}
"""The kinds of stores that tests make, each by a function of an empty folder."""
PUBLISHED = {
    **{name: faults(f"{name}.json") for name in ("edge", "flood")},
    **{
        name: generation(name) for name in ("llm-kg-bench-v1", "llm-kg-bench-v2", "llm-kg-bench-v3")
    },
}
"""Stores with published data, each by a function of an empty folder and that of the data."""
RUNS = ("quick_start", "small", "single")


KINDS = (*sorted(MADE), *RUNS, *PUBLISHED)


@pytest.fixture(scope="module")
def kind_of_store(request, tmp_path_factory):
    """Yield the store that the parameter names."""
    name = request.param
    if name in RUNS:
        yield from opened(open_reader(str(request.getfixturevalue(name))))
    elif name in MADE:
        yield from opened(MADE[name](tmp_path_factory.mktemp("made")))
    else:
        yield from opened(
            PUBLISHED[name](
                tmp_path_factory.mktemp("made"), request.getfixturevalue("external_data")
            )
        )


def opened(store):
    """Yield a store, and close it after the test, unless tests share it."""
    yield store
    if not isinstance(store, GraphStore):
        store.close()
