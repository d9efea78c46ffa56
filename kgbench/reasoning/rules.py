# SPDX-License-Identifier: Apache-2.0
"""The table of the rules of OWL 2 RL/RDF.

Source: OWL 2 Web Ontology Language Profiles (second edition), section 4.3, tables 4 to 9, which
also names the rules. Left out are the rules about datatypes (table 8) and rules with trivial
conclusions: that everything is the same as itself (eq-ref), that classes and properties are below
themselves and below ``owl:Thing`` (scm-cls, scm-op, scm-dp), and rules without premises (prp-ap,
cls-thing, cls-nothing1).

A rule is written ``name: premise, premise -> conclusion``. Terms with a question mark are
variables, and ``false`` is an inconsistency. Rules about lists are generated for each list of an
ontology (:func:`of_list`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from kgbench.vocab import OWL, RDF, RDFS

Atom = tuple[str, str, str]

_TABLE: Final = """
eq-sym: ?x owl:sameAs ?y -> ?y owl:sameAs ?x
eq-trans: ?x owl:sameAs ?y, ?y owl:sameAs ?z -> ?x owl:sameAs ?z
eq-rep-s: ?s owl:sameAs ?t, ?s ?p ?o -> ?t ?p ?o
eq-rep-p: ?p owl:sameAs ?q, ?s ?p ?o -> ?s ?q ?o
eq-rep-o: ?o owl:sameAs ?t, ?s ?p ?o -> ?s ?p ?t
eq-diff1: ?x owl:sameAs ?y, ?x owl:differentFrom ?y -> false
eq-diff1: ?x owl:differentFrom ?x -> false
prp-dom: ?p rdfs:domain ?c, ?x ?p ?y -> ?x a ?c
prp-rng: ?p rdfs:range ?c, ?x ?p ?y -> ?y a ?c
prp-fp: ?p a owl:FunctionalProperty, ?x ?p ?y, ?x ?p ?z -> ?y owl:sameAs ?z
prp-ifp: ?p a owl:InverseFunctionalProperty, ?x ?p ?z, ?y ?p ?z -> ?x owl:sameAs ?y
prp-irp: ?p a owl:IrreflexiveProperty, ?x ?p ?x -> false
prp-symp: ?p a owl:SymmetricProperty, ?x ?p ?y -> ?y ?p ?x
prp-asyp: ?p a owl:AsymmetricProperty, ?x ?p ?y, ?y ?p ?x -> false
prp-trp: ?p a owl:TransitiveProperty, ?x ?p ?y, ?y ?p ?z -> ?x ?p ?z
prp-spo1: ?p rdfs:subPropertyOf ?q, ?x ?p ?y -> ?x ?q ?y
prp-eqp1: ?p owl:equivalentProperty ?q, ?x ?p ?y -> ?x ?q ?y
prp-eqp2: ?p owl:equivalentProperty ?q, ?x ?q ?y -> ?x ?p ?y
prp-pdw: ?p owl:propertyDisjointWith ?q, ?x ?p ?y, ?x ?q ?y -> false
prp-inv1: ?p owl:inverseOf ?q, ?x ?p ?y -> ?y ?q ?x
prp-inv2: ?p owl:inverseOf ?q, ?x ?q ?y -> ?y ?p ?x
prp-npa1: ?n owl:sourceIndividual ?x, ?n owl:assertionProperty ?p, ?n owl:targetIndividual ?y, ?x ?p ?y -> false
prp-npa2: ?n owl:sourceIndividual ?x, ?n owl:assertionProperty ?p, ?n owl:targetValue ?y, ?x ?p ?y -> false
cls-nothing2: ?x a owl:Nothing -> false
cls-com: ?c owl:complementOf ?d, ?x a ?c, ?x a ?d -> false
cls-svf1: ?c owl:someValuesFrom ?d, ?c owl:onProperty ?p, ?x ?p ?y, ?y a ?d -> ?x a ?c
cls-svf2: ?c owl:someValuesFrom owl:Thing, ?c owl:onProperty ?p, ?x ?p ?y -> ?x a ?c
cls-avf: ?c owl:allValuesFrom ?d, ?c owl:onProperty ?p, ?x a ?c, ?x ?p ?y -> ?y a ?d
cls-hv1: ?c owl:hasValue ?y, ?c owl:onProperty ?p, ?x a ?c -> ?x ?p ?y
cls-hv2: ?c owl:hasValue ?y, ?c owl:onProperty ?p, ?x ?p ?y -> ?x a ?c
cls-maxc1: ?c owl:maxCardinality 0, ?c owl:onProperty ?p, ?x a ?c, ?x ?p ?y -> false
cls-maxc2: ?c owl:maxCardinality 1, ?c owl:onProperty ?p, ?x a ?c, ?x ?p ?y, ?x ?p ?z -> ?y owl:sameAs ?z
cls-maxqc1: ?c owl:maxQualifiedCardinality 0, ?c owl:onProperty ?p, ?c owl:onClass ?d, ?x a ?c, ?x ?p ?y, ?y a ?d -> false
cls-maxqc2: ?c owl:maxQualifiedCardinality 0, ?c owl:onProperty ?p, ?c owl:onClass owl:Thing, ?x a ?c, ?x ?p ?y -> false
cls-maxqc3: ?c owl:maxQualifiedCardinality 1, ?c owl:onProperty ?p, ?c owl:onClass ?d, ?x a ?c, ?x ?p ?y, ?x ?p ?z, ?y a ?d, ?z a ?d -> ?y owl:sameAs ?z
cls-maxqc4: ?c owl:maxQualifiedCardinality 1, ?c owl:onProperty ?p, ?c owl:onClass owl:Thing, ?x a ?c, ?x ?p ?y, ?x ?p ?z -> ?y owl:sameAs ?z
cax-sco: ?c rdfs:subClassOf ?d, ?x a ?c -> ?x a ?d
cax-eqc1: ?c owl:equivalentClass ?d, ?x a ?c -> ?x a ?d
cax-eqc2: ?c owl:equivalentClass ?d, ?x a ?d -> ?x a ?c
cax-dw: ?c owl:disjointWith ?d, ?x a ?c, ?x a ?d -> false
scm-sco: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?e -> ?c rdfs:subClassOf ?e
scm-eqc1: ?c owl:equivalentClass ?d -> ?c rdfs:subClassOf ?d
scm-eqc1: ?c owl:equivalentClass ?d -> ?d rdfs:subClassOf ?c
scm-eqc2: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?c -> ?c owl:equivalentClass ?d
scm-spo: ?p rdfs:subPropertyOf ?q, ?q rdfs:subPropertyOf ?r -> ?p rdfs:subPropertyOf ?r
scm-eqp1: ?p owl:equivalentProperty ?q -> ?p rdfs:subPropertyOf ?q
scm-eqp1: ?p owl:equivalentProperty ?q -> ?q rdfs:subPropertyOf ?p
scm-eqp2: ?p rdfs:subPropertyOf ?q, ?q rdfs:subPropertyOf ?p -> ?p owl:equivalentProperty ?q
scm-dom1: ?p rdfs:domain ?c, ?c rdfs:subClassOf ?d -> ?p rdfs:domain ?d
scm-dom2: ?q rdfs:domain ?c, ?p rdfs:subPropertyOf ?q -> ?p rdfs:domain ?c
scm-rng1: ?p rdfs:range ?c, ?c rdfs:subClassOf ?d -> ?p rdfs:range ?d
scm-rng2: ?q rdfs:range ?c, ?p rdfs:subPropertyOf ?q -> ?p rdfs:range ?c
scm-hv: ?c owl:hasValue ?i, ?c owl:onProperty ?p, ?p rdfs:subPropertyOf ?q, ?d owl:onProperty ?q, ?d owl:hasValue ?i -> ?c rdfs:subClassOf ?d
scm-svf1: ?c owl:someValuesFrom ?x, ?c owl:onProperty ?p, ?x rdfs:subClassOf ?y, ?d owl:someValuesFrom ?y, ?d owl:onProperty ?p -> ?c rdfs:subClassOf ?d
scm-svf2: ?c owl:someValuesFrom ?y, ?c owl:onProperty ?p, ?p rdfs:subPropertyOf ?q, ?d owl:onProperty ?q, ?d owl:someValuesFrom ?y -> ?c rdfs:subClassOf ?d
scm-avf1: ?c owl:allValuesFrom ?x, ?c owl:onProperty ?p, ?x rdfs:subClassOf ?y, ?d owl:allValuesFrom ?y, ?d owl:onProperty ?p -> ?c rdfs:subClassOf ?d
scm-avf2: ?c owl:allValuesFrom ?y, ?c owl:onProperty ?p, ?p rdfs:subPropertyOf ?q, ?d owl:onProperty ?q, ?d owl:allValuesFrom ?y -> ?d rdfs:subClassOf ?c
"""  # noqa: E501 - a rule is a line


class Rule(NamedTuple):
    """A rule; ``head`` is ``None`` if the premises are an inconsistency."""

    name: str
    body: tuple[Atom, ...]
    head: Atom | None


def term(text: str) -> str:
    """Convert a term of the table to the notation of the engine: IRIs in N-Triples syntax."""
    if text.startswith("?") or text.isdecimal():
        return text
    if text == "a":
        return f"<{RDF.type}>"
    prefix, _, name = text.partition(":")
    return f"<{ {'owl': OWL, 'rdfs': RDFS, 'rdf': RDF}[prefix][name] }>"


def _atom(text: str) -> Atom:
    subject, predicate, object_ = map(term, text.split())
    return subject, predicate, object_


def _rule(line: str) -> Rule:
    name, _, formula = line.partition(": ")
    body, _, head = formula.partition(" -> ")
    premises = tuple(map(_atom, body.split(", ")))
    return Rule(name, premises, None if head == "false" else _atom(head))


RULES: Final = tuple(map(_rule, _TABLE.strip().splitlines()))
_A: Final = term("a")
_SAME, _DIFFERENT = term("owl:sameAs"), term("owl:differentFrom")
_BELOW: Final = term("rdfs:subClassOf")


def of_list(
    subject: str, predicate: str, items: Sequence[str], kinds: frozenset[str]
) -> Iterator[Rule]:
    """Yield the rules for a triple with a list; ``kinds`` are the stated classes of its subject."""
    yield from _OF_LISTS[predicate](subject, items, kinds)


def _intersection(subject: str, items: Sequence[str], _: frozenset[str]) -> Iterator[Rule]:
    if items:
        body = tuple(("?y", _A, cls) for cls in items)
        yield Rule("cls-int1", body, ("?y", _A, subject))
    for cls in items:
        yield Rule("cls-int2", (("?y", _A, subject),), ("?y", _A, cls))
        yield Rule("scm-int", (), (subject, _BELOW, cls))


def _union(subject: str, items: Sequence[str], _: frozenset[str]) -> Iterator[Rule]:
    for cls in items:
        yield Rule("cls-uni", (("?y", _A, cls),), ("?y", _A, subject))
        yield Rule("scm-uni", (), (cls, _BELOW, subject))


def _enumeration(subject: str, items: Sequence[str], _: frozenset[str]) -> Iterator[Rule]:
    for individual in items:
        yield Rule("cls-oo", (), (individual, _A, subject))


def _chain(subject: str, items: Sequence[str], _: frozenset[str]) -> Iterator[Rule]:
    if items:
        body = tuple((f"?u{n}", prop, f"?u{n + 1}") for n, prop in enumerate(items))
        yield Rule("prp-spo2", body, ("?u0", subject, f"?u{len(items)}"))


def _key(subject: str, items: Sequence[str], _: frozenset[str]) -> Iterator[Rule]:
    if items:
        shared = [(owner, prop, f"?z{n}") for n, prop in enumerate(items) for owner in ("?x", "?y")]
        body = (("?x", _A, subject), *shared, ("?y", _A, subject))
        yield Rule("prp-key", body, ("?x", _SAME, "?y"))


def _members(_: str, items: Sequence[str], kinds: frozenset[str]) -> Iterator[Rule]:
    for first, second in combinations(items, 2):
        if term("owl:AllDifferent") in kinds:
            yield Rule("eq-diff2", (), (first, _DIFFERENT, second))
        if term("owl:AllDisjointClasses") in kinds:
            yield Rule("cax-adc", (("?x", _A, first), ("?x", _A, second)), None)
        if term("owl:AllDisjointProperties") in kinds:
            yield Rule("prp-adp", (("?x", first, "?y"), ("?x", second, "?y")), None)


_OF_LISTS: Final[Mapping[str, Callable[[str, Sequence[str], frozenset[str]], Iterator[Rule]]]] = {
    term("owl:intersectionOf"): _intersection,
    term("owl:unionOf"): _union,
    term("owl:oneOf"): _enumeration,
    term("owl:propertyChainAxiom"): _chain,
    term("owl:hasKey"): _key,
    term("owl:members"): _members,
    term("owl:distinctMembers"): _members,
}
LIST_PREDICATES: Final = frozenset(_OF_LISTS)
"""The predicates whose lists have rules."""
