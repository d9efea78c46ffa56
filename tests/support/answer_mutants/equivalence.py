# SPDX-License-Identifier: Apache-2.0
"""Whether another engine finds a changed answer equivalent on 200 random graphs."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import owlrl
import pyoxigraph as ox
import rdflib
from rdflib import OWL, RDF, SH
from rdflib.compare import isomorphic

from kgbench.families.Text2ShaclWorld.cases import trial_graphs
from kgbench.model import Case
from kgbench.worlds import generator
from kgbench.worlds.axioms import ONTOLOGY, PREFIX_LINES
from tests.support import pyshacl_oracle

GRAPHS = 200
_AT_ONCE = 5  # where axioms make many things the same, the time of owlrl grows with the cube
_THING = re.compile(r"urn:x\d+")
_COMPLEMENT = re.compile(r"rdfs:subClassOf \[ a owl:Class ; owl:complementOf (o:\w+) \]")
_SYMMETRIC = re.compile(
    r"^(\S+) (<\S+#(?:sameAs|differentFrom|equivalent\w+)>) (\S+) \.$", re.MULTILINE
)
_INTEGER = re.compile(r" ; r:datatype <[^<>]*#integer>")


def shapes(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether pySHACL finds that the same graphs conform to both shapes."""
    chance = random.Random(seed)
    both = [pyshacl_oracle.parsed(text) for text in (one, other)]
    world = generator.world_of_name(case.data["graphName"])
    assert world is not None
    trials = trial_graphs(world, case.parameters["level"], case.data["draw"])
    for _ in range(GRAPHS):
        graph = _perturbed(chance.choice(trials).triples, chance, 4)
        first, second = (bool(each.findings(graph)) for each in both)
        if first != second:
            return False
    return True


def axioms(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether owlrl finds the same facts and the same contradictions with both ontologies.

    The random graphs share no things, so one closure has some of them. Most of their facts use
    names from the lines that differ.
    """
    chance = random.Random(seed)
    classes, properties, individuals = (
        re.findall(rf"(o:\w+) a owl:{kind}", one)
        for kind in ("Class", "ObjectProperty", "NamedIndividual")
    )
    names = [*classes, *properties, *individuals]
    changed = " ".join({*one.splitlines()} ^ {*other.splitlines()})
    nearer = [name for name in re.findall(r"o:\w+", changed) if name in names]
    facts = defaultdict(list)
    for number in range(GRAPHS):
        for _ in range(4):
            subject, value = (f"<urn:x{number}/{chance.randrange(3)}>" for _ in range(2))
            name = chance.choice(names if chance.random() < 0.3 else nearer)
            if name in classes:
                facts[number // _AT_ONCE].append(f"{subject} a {name} .")
            elif name in properties:
                facts[number // _AT_ONCE].append(f"{subject} {name} {value} .")
            else:
                facts[number // _AT_ONCE].append(f"{subject} {chance.choice(properties)} {name} .")
    return all(
        _concluded("\n".join([PREFIX_LINES, one, *some]))
        == _concluded("\n".join([PREFIX_LINES, other, *some]))
        for some in facts.values()
    )


def _concluded(text: str) -> tuple[set[str], set[tuple[str, ...]]]:
    """Return the graphs in which owlrl finds a contradiction, and the facts of the others.

    A complement above a class is read as a disjoint class: about those owlrl names the thing.
    """
    disjoint = _COMPLEMENT.sub(r"owl:disjointWith \1", text)
    graph = rdflib.Graph().parse(data=disjoint, format="turtle")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    errors = " ".join(str(value) for _, by, value in graph if "error" in str(by).lower())
    clashing = set(_THING.findall(errors))
    told = {RDF.type, OWL.sameAs, *graph.subjects(RDF.type, OWL.ObjectProperty)}
    facts = {
        tuple(map(str, triple))
        for triple in graph
        if triple[1] in told
        and (found := _THING.match(str(triple[0])))
        and found[0] not in clashing
        and str(triple[2]).startswith(("urn:x", ONTOLOGY))
    }
    return clashing, facts


def graphs(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether rdflib finds the same graph, whatever blank nodes are called."""
    try:
        first, second = (rdflib.Graph().parse(data=text, format="nt") for text in (one, other))
    except rdflib.exceptions.ParserError:  # a base direction, which no graph before RDF 1.2 has
        return False
    return isomorphic(first, second)


def reports(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether rdflib finds the same pairs of a node and a component in both reports.

    A report has no need to name its results, or to say what they are.
    """
    first, second = (
        {
            (graph.value(result, SH.focusNode), graph.value(result, SH.sourceConstraintComponent))
            for result in graph.subjects(SH.focusNode, unique=True)
        }
        for graph in (rdflib.Graph().parse(data=text, format="nt") for text in (one, other))
    )
    return first == second


def statements(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether rdflib finds the same graph, with symmetric statements in both directions."""
    both = (_SYMMETRIC.sub(r"\g<0>\n\3 \2 \1 .", text) for text in (one, other))
    return graphs(case, *both, seed)


def contexts(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether Oxigraph reads the document of the case as the same graph with both contexts.

    The task asks for any context with which this document means its graph.
    """
    document = json.loads(case.data["document"])
    try:
        first, second = (
            {str(quad) for quad in ox.parse(text, ox.RdfFormat.JSON_LD)}
            for text in (
                json.dumps({**json.loads(context), **document}) for context in (one, other)
            )
        )
    except SyntaxError:
        return False
    return first == second


def frames(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether two frames differ only below properties with literals, where it has no effect.

    Literals are compared with value patterns alone (JSON-LD 1.1 Framing, section 4.2.3).
    """
    graph = rdflib.Graph().parse(data="\n".join(case.data["triples"]), format="nt")
    linking = {by for _, by, value in graph if not isinstance(value, rdflib.Literal)}
    literal = {
        term
        for term, meaning in json.loads(case.data["context"]).items()
        if rdflib.URIRef(meaning.get("@id", "") if isinstance(meaning, dict) else meaning)
        in set(graph.predicates()) - linking
    }

    def telling(frame: Any, patterns_alone: bool = False) -> Any:
        if not isinstance(frame, dict):
            return frame
        return {
            key: telling(value, key in literal)
            for key, value in frame.items()
            if not patterns_alone or key in {"@value", "@type", "@language"}
        }

    return bool(telling(json.loads(one)) == telling(json.loads(other)))


def mappings(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether two mappings differ only in types that numbers of their sources have anyway.

    Numbers in JSON and in tables have the type ``xsd:integer`` by their natural mapping to RDF.
    """
    typed = "JSONPath" in one or "tableName" in one
    first, second = (_INTEGER.sub("", text) for text in (one, other))
    return typed and first == second


def _perturbed(triples: Sequence[ox.Triple], chance: random.Random, most: int) -> list[ox.Triple]:
    """Leave out some triples, and exchange the objects of others with the same predicate."""
    result = list(triples)
    for _ in range(chance.randint(1, most)):
        index, other = chance.randrange(len(result)), chance.randrange(len(result))
        one, two = result[index], result[other]
        if one.predicate == two.predicate and chance.random() < 0.7:
            result[index] = ox.Triple(one.subject, one.predicate, two.object)
        elif len(result) > 2 and chance.random() < 0.3:
            del result[index]
    return result
