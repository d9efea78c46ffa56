# SPDX-License-Identifier: Apache-2.0
"""Declarations that no published run needs are left out of the catalogue."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.publish.selection import unused_declarations
from kgbench.vocab import KGB, RDF
from tests.publish.reading import dump

BASE, CATALOGUE, OTHER = "https://example.org/", "https://example.org/catalogue", "urn:analysis"
STATED = """
:asked a kgb:TaskClass ; kgb:metric :f1 , :shared ; kgb:parameter :size .
:unasked a kgb:TaskClass ; kgb:labelledTask :label .
:unasked kgb:metric :hits , :shared , :listed , :plotted .
:label kgb:setting :setting .
:setting kgb:parameterName "level" .
:deeper kgb:aggregationOf :hits .
:hits kgb:sees :deeper .
:task kgb:taskClass :asked .
:set kgb:member :listed .
:listed kgb:sees :behind .
:f1 a kgb:Metric .
:shared a kgb:Metric .
:plotted a kgb:Metric .
:behind a kgb:Metric .
:size a kgb:Parameter .
"""


def left_out(*others):
    """Return the omitted declarations of a catalogue with one used and one unused class."""
    store = ox.Store()
    head = f"@prefix : <{BASE}> . @prefix kgb: <{KGB}> ."
    store.load(head + STATED, ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(CATALOGUE))
    row = (ox.NamedNode("urn:row"), ox.NamedNode(f"{KGB}metric"), ox.NamedNode(f"{BASE}plotted"))
    store.add(ox.Quad(*row, ox.NamedNode(OTHER)))
    return {one.removeprefix(BASE) for one in unused_declarations(store, CATALOGUE, others)}


def test_what_only_an_unasked_class_has_is_left_out():
    """Metrics, tasks and settings of the unused class are omitted, unless others refer to them."""
    assert left_out() == {"unasked", "hits", "deeper", "label", "setting", "plotted"}


def test_what_an_analysis_names_stays():
    """Metrics in a published analysis stay."""
    assert left_out(OTHER) == {"unasked", "hits", "deeper", "label", "setting"}


def test_a_publication_has_the_classes_of_its_tasks(site):
    """A publication has exactly the task classes of its tasks."""
    store = dump(site, "all.nq")
    kind = ox.NamedNode(RDF.type)
    classes = {q.subject for q in store.quads_for_pattern(None, kind, ox.NamedNode(KGB.TaskClass))}
    asked = {q.object for q in store.quads_for_pattern(None, ox.NamedNode(KGB.taskClass), None)}
    assert classes == asked != set()
