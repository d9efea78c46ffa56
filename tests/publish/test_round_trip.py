# SPDX-License-Identifier: Apache-2.0
"""Round trips of publications: parts have fragments there, and paths in every store."""

from __future__ import annotations

import json
import re

import pyoxigraph as ox

from kgbench.publish.checks import check
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import open_reader
from kgbench.vocab import BASE as STORE
from kgbench.vocab import KGB, PROV
from tests.publish.conftest import BASE, command, publish
from tests.publish.reading import dump

ENDS = re.compile(r"/(?:run|pass)/[0-9a-f-]+$")


def results(location):
    """Return the statements of the runs and passes of a store.

    Without their origins, without infos, whose texts are scrubbed, and without the ends of runs and
    passes, which publications state and stores leave to their sessions.
    """
    with open_reader(str(location)) as store:
        return {
            ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode(graph))
            for graph in store.graphs()
            if "/graph/run/" in graph or "/graph/pass/" in graph
            for t in store.triples(graph)
            if t.predicate.value not in (KGB.recordedAs, KGB.infos)
            and not (t.predicate.value == PROV.endedAtTime and ENDS.search(t.subject.value))
        }


def below(found, old, new):
    """Return statements with recorded resources moved to another base."""

    def moved(term):
        if isinstance(term, ox.NamedNode):
            rest = term.value.removeprefix(old)
            if rest.startswith(("run/", "pass/", "graph/", "software/", "reviewer/")):
                return ox.NamedNode(new + rest)
        return term

    return {ox.Quad(*(moved(term) for term in quad)) for quad in found}


def taken(site, store):
    """Import a site and return the report."""
    (path,) = (site / "data").glob("all.nq.*")
    return json.loads(command("import", "rdf", path, "--store", store, "--json"))


def test_an_import_has_the_identity_of_the_store(recorded, tmp_path):
    """At the store's own base, runs and passes are imported statement by statement."""
    publish(recorded, tmp_path / "site", base=STORE, level=RedactionLevel.NONE)
    taken(tmp_path / "site", tmp_path / "store")
    assert results(tmp_path / "store") == results(recorded)


def test_results_keep_their_published_names(recorded, tmp_path):
    """Results published under another base keep their IRIs in imports and later publications."""
    publish(recorded, tmp_path / "site", level=RedactionLevel.NONE)
    taken(tmp_path / "site", tmp_path / "store")
    assert results(tmp_path / "store") == below(results(recorded), STORE, BASE)
    publish(
        tmp_path / "store",
        tmp_path / "again",
        base="https://third.example/",
        level=RedactionLevel.NONE,
    )

    def parts(site):
        nodes = {quad.subject.value for quad in dump(site, "all.nq")}
        return {node for node in nodes if node.startswith(f"{BASE}run/")}

    assert parts(tmp_path / "again") == parts(tmp_path / "site")
    assert any("#" in one and one.endswith("-0-answer") for one in parts(tmp_path / "site"))


def test_evaluations_of_what_others_published_are_found(recorded, tmp_path):
    """A pass over results with another base has valid links and is imported as a pass."""
    publish(recorded, tmp_path / "site", level=RedactionLevel.NONE)
    taken(tmp_path / "site", tmp_path / "store")
    command("reevaluate", "--store", tmp_path / "store", "--json")
    publish(
        tmp_path / "store",
        tmp_path / "again",
        base="https://third.example/",
        level=RedactionLevel.NONE,
    )
    faults = check(tmp_path / "again").faults
    assert [str(one) for one in faults if one.constraint in ("unresolved", "dead-link")] == []
    taken(tmp_path / "again", tmp_path / "last")
    assert results(tmp_path / "last") == below(
        results(tmp_path / "store"), STORE, "https://third.example/"
    )
