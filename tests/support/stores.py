# SPDX-License-Identifier: Apache-2.0
"""Stores that tests share and leave as they are, copies of them, and their contents."""

from __future__ import annotations

import shutil

import pyoxigraph as ox
import pytest

from kgbench.store import open_reader
from kgbench.vocab import BASE, RDF
from tests.support.commands import printed
from tests.support.templates import linked


def copied(store, place):
    """Copy a store to a folder, where a test may change it, and return the folder."""
    return shutil.copytree(store, place, copy_function=linked)


def quads(location):
    """Return all quads of a store."""
    with open_reader(str(location)) as store:
        return [
            ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode(graph))
            for graph in store.graphs()
            for t in store.triples(graph)
        ]


def typed(found, kind):
    """Return the first instance of a class."""
    wanted = (ox.NamedNode(RDF.type), ox.NamedNode(kind))
    return next(q.subject for q in found if (q.predicate, q.object) == wanted)


def results_only(found):
    """Return runs and passes with the resources they refer to, without other declarations."""
    described = (f"{BASE}{kind}/" for kind in ("task", "case", "model", "software"))
    kept = ("/graph/run/", "/graph/pass/")
    starts = tuple(described)
    return [
        q
        for q in found
        if any(part in q.graph_name.value for part in kept) or q.subject.value.startswith(starts)
    ]


@pytest.fixture(scope="session")
def quick_start(tmp_path_factory):
    """Return the store of the built-in quick start, shortened: three baselines, two iterations."""
    place = tmp_path_factory.mktemp("quick-start") / "store"
    printed("run", "--store", place, "--iterations", 2)
    return place


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Return the store of a run of two baselines on two tasks, one with feedback."""
    place = tmp_path_factory.mktemp("small") / "store"
    chosen = ["-m", "baseline:oracle", "-m", "baseline:noisy?rate=0.5&seed=3"]
    chosen += ["-t", "RdfFriendCount-turtle-1", "-t", "RdfSyntaxFixList-turtle"]
    printed("run", "--store", place, *chosen)
    return place


@pytest.fixture(scope="session")
def single(tmp_path_factory):
    """Return the store of a run of one baseline on one task."""
    place = tmp_path_factory.mktemp("single") / "store"
    printed("run", "--store", place, "-m", "baseline:oracle", "-t", "RdfFriendCount-turtle-1")
    return place
