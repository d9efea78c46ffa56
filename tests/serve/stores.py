# SPDX-License-Identifier: Apache-2.0
"""Stores on disk for servers, made from the graphs in ``tests/graphs``."""

from __future__ import annotations

from collections import defaultdict

import pyoxigraph as ox

from kgbench.store import Block, open_store
from kgbench.vocab import BASE, PREFIXES, PROV, XSD
from tests.support.analysis_store import GRAPHS

#: A text with which a model could attack readers.
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>"
    "</script><svg onload=alert(1)><a href='javascript:alert(1)'>x</a>"
    "\u202egnp.exe\u2066\x07\x1b[31m\x00'\"><!-- ]]> {{ 7*7 }}"
)


def make(folder, *, texts=None, extra=()):
    """Make a store at ``folder`` with ``result.trig``; ``texts`` replaces literals by value."""
    texts = texts or {}
    blocks = defaultdict(list)
    path = GRAPHS / "result.trig"
    for quad in ox.parse(path=str(path), format=ox.RdfFormat.TRIG, base_iri=BASE):
        blocks[quad.graph_name.value].append(f"{_with(quad.triple, texts)} .")
    for quad in extra:
        blocks[quad.graph_name.value].append(f"{quad.triple} .")
    with open_store(str(folder)) as store:
        store.bulk_load([Block(graph, lines) for graph, lines in blocks.items()])
    return folder


def _with(triple, texts):
    value = triple.object
    if isinstance(value, ox.Literal) and value.value in texts:
        return ox.Triple(triple.subject, triple.predicate, ox.Literal(texts[value.value]))
    return triple


_UNDER_WAY = """
GRAPH <graph/catalogue> {
  <graph/run/3> a kgb:ResultGraph ; kgb:describes <run/3> ; kgb:changeStamp 1763640000000000009 .
}
GRAPH <graph/run/3> {
  <run/3> a kgb:Run , prov:Activity ; rdfs:label "under way" ; kgb:suite <suite/kgbench-1> ;
    prov:startedAtTime "2026-11-21T12:00:00Z"^^xsd:dateTime .
  <run/3/session/0> a kgb:Session , prov:Activity ; dcterms:isPartOf <run/3> ;
    prov:startedAtTime "2026-11-21T12:00:00Z"^^xsd:dateTime ; kgb:plannedDialogues 2 .
  <run/3/oracle/Spell-10> a kgb:TaskExecution , prov:Activity ; dcterms:isPartOf <run/3> ;
    kgb:model <model/oracle> ; kgb:task <task/Spell/1.0/Spell-10/11aa22bb> .
  <run/3/oracle/Spell-10/0-f1f1> a kgb:Dialogue , prov:Activity ;
    dcterms:isPartOf <run/3/oracle/Spell-10> ; kgb:model <model/oracle> ;
    kgb:task <task/Spell/1.0/Spell-10/11aa22bb> ; kgb:suite <suite/kgbench-1> ;
    kgb:case <case/kgbench-1/Spell/case/a1> ; kgb:iteration 0 ;
    prov:startedAtTime "2026-11-21T12:00:01Z"^^xsd:dateTime .
}
"""


def run_under_way():
    """Return the quads of a run that plans two dialogues and has begun the first."""
    known = ("kgb", "prov", "rdfs", "xsd", "dcterms")
    prefixes = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in known)
    database = ox.Store()
    database.update(f"BASE <{BASE}> {prefixes} INSERT DATA {{ {_UNDER_WAY} }}")
    return list(database)


def end_dialogue(folder):
    """End the first dialogue of the unfinished run."""
    ended = f'"2026-11-21T12:00:02Z"^^<{XSD["dateTime"]}>'
    line = f"<{BASE}run/3/oracle/Spell-10/0-f1f1> <{PROV.endedAtTime}> {ended} ."
    with open_store(str(folder)) as store:
        store.write([Block(f"{BASE}graph/run/3", [line])])


def with_models(folder, number):
    """Make a store whose leaderboard has ``number`` models in addition to ``result.trig``."""
    path = GRAPHS / "result.trig"
    found = list(ox.parse(path=str(path), format=ox.RdfFormat.TRIG, base_iri=BASE))
    graphs = {f"{BASE}graph/catalogue", f"{BASE}graph/pass/1"}
    copied = [
        quad
        for quad in found
        if quad.graph_name.value in graphs
        and ("/oracle/" in quad.subject.value or quad.subject.value == f"{BASE}model/oracle")
    ]
    extra = []
    for k in range(number):

        def renamed(term, name=f"model-{k}"):
            if isinstance(term, ox.NamedNode) and term.value.startswith(BASE):
                return ox.NamedNode(term.value.replace("/oracle", f"/{name}"))
            return (
                ox.Literal(name) if term in (ox.Literal("Oracle"), ox.Literal("oracle")) else term
            )

        extra += [
            ox.Quad(renamed(q.subject), q.predicate, renamed(q.object), q.graph_name)
            for q in copied
        ]
    return make(folder, extra=extra)
