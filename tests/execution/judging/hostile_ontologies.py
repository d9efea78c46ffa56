# SPDX-License-Identifier: Apache-2.0
"""Kinds of hostile answers about OWL ontologies."""

from collections.abc import Iterator

from kgbench.families.ontology_answers import fenced
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from tests.execution.judging.harm import URL, question
from tests.execution.judging.hostile import Hostile, noise
from tests.execution.judging.hostile_answers import JUDGED_OR_ENDED

NAMES = ("OwlEntailmentWorld", "OwlJustificationWorld", "OwlRepairWorld", "OwlWritingWorld")
WRITING = "OwlWritingWorld"
REFUSED, USABLE = (Outcome.UNPARSABLE,), (Outcome.SCORED, Outcome.UNPARSABLE)
SMALL = range(300)
MANY = range(20_000)


def answers(*documents):
    """Return answers with one document each."""
    return tuple(fenced([document]) for document in documents)


def listed(members):
    """Return a list in Turtle."""
    return f"( {' '.join(members)} )"


def explosions() -> Iterator[str]:
    """Yield ontologies with a huge or slow closure."""
    yield " ".join(f"o:a owl:sameAs o:x{k} . o:x{k} o:p o:a ." for k in SMALL)
    yield " ".join(f"o:x{k} o:p o:x{k + 1} ." for k in range(3_000)) + (
        " o:p a owl:TransitiveProperty , owl:SymmetricProperty ."
    )
    yield " ".join(f"o:C{k} rdfs:subClassOf o:C{k + 1} ." for k in range(3_000))
    yield " ".join(
        f"o:p{k} owl:inverseOf o:p{k + 1} ; a owl:SymmetricProperty ." for k in SMALL
    ) + (" o:p0 rdfs:subPropertyOf owl:sameAs ." + " ".join(f"o:y{k} o:p0 o:z ." for k in SMALL))
    yield " ".join(f"o:x{k} o:p o:y , o:z{k} ." for k in SMALL) + (
        " o:p a owl:FunctionalProperty , owl:InverseFunctionalProperty ."
    )
    # Everything is the same as everything, also rdf:type and owl:sameAs.
    yield "o:p rdfs:domain owl:FunctionalProperty . owl:sameAs owl:sameAs rdf:type . " + " ".join(
        f"rdf:type o:p o:x{k} . o:x{k} owl:sameAs rdf:type ." for k in SMALL
    )
    yield "rdf:type rdfs:subPropertyOf owl:sameAs . " + " ".join(
        f"o:x{k} a o:C{k % 7} ." for k in range(2_000)
    )
    for number in (30, 49):
        members = listed(["o:p"] * number)
        links = " ".join(f"o:x{k % 12} o:p o:x{k % 11} ." for k in range(132))
        yield f"o:p owl:propertyChainAxiom {members} . {links}"
        yield f"o:C owl:hasKey {members} . {links} " + " ".join(f"o:x{k} a o:C ." for k in SMALL)
    for number in (48, 49):
        yield f"o:C owl:intersectionOf {listed(['o:C'] * number)} . " + " ".join(
            f"o:x{k} a o:C ." for k in SMALL
        )


def lists() -> Iterator[str]:
    """Yield lists that are long, broken or cyclic."""
    for name in ("intersectionOf", "unionOf", "oneOf", "propertyChainAxiom", "hasKey"):
        yield f"o:C owl:{name} {listed(f'o:x{k}' for k in MANY)} ."
        yield f"o:C owl:{name} o:l . o:l rdf:first o:D ; rdf:rest o:l ."
        yield f"o:C owl:{name} o:l . o:l rdf:first o:D , o:E ; rdf:rest o:l , rdf:nil ."
    for kind in ("AllDifferent", "AllDisjointClasses", "AllDisjointProperties"):
        yield f"[] a owl:{kind} ; owl:members {listed(f'o:x{k}' for k in MANY)} ."
    yield "\n".join(f"o:C{k} owl:unionOf ( o:D o:E{k} ) ." for k in MANY)
    yield f"o:C owl:intersectionOf {listed(['o:C'] * 30)} . " + " ".join(
        f"o:x{k} a o:C ." for k in SMALL
    )
    yield "\n".join(f"o:C{k} owl:intersectionOf ( o:D o:D ) . o:x{k} a o:D ." for k in MANY)


def odd_axioms(url) -> Iterator[str]:
    """Yield axioms about the vocabulary of OWL itself, literals in odd places, and imports."""
    yield f"<{url}> a owl:Ontology ; owl:imports <{url}> ."
    yield f"o:C rdfs:subClassOf <{url}> ; rdfs:isDefinedBy <{url}> ."
    yield "rdf:type a rdf:type ; rdfs:domain rdf:type ; rdfs:range rdf:type ."
    yield "rdfs:subClassOf rdfs:subPropertyOf rdf:type . owl:Thing rdfs:subClassOf owl:Nothing ."
    yield "owl:sameAs owl:sameAs owl:differentFrom . owl:sameAs a owl:IrreflexiveProperty ."
    yield "o:p rdfs:subPropertyOf o:p ; owl:inverseOf o:p ; owl:propertyDisjointWith o:p ."
    yield f"o:C rdfs:subClassOf '{'x' * 1_000_000}' , 1 , true , 'a'@en--ltr ."
    yield f"o:C rdfs:subClassOf [ owl:onProperty o:p ; owl:maxCardinality {'9' * 100_000} ] ."
    yield "o:C rdfs:subClassOf [ owl:onProperty o:p ; owl:maxCardinality -0 , 1.0 , 'one' ] ."
    yield "o:C rdfs:subClassOf <<( o:a o:b o:c )>> . << o:a o:b o:c >> owl:sameAs o:d ."
    yield "o:C rdfs:subClassOf " + "[ owl:complementOf " * 2_000 + "o:D" + " ]" * 2_000 + " ."
    yield "o:C rdfs:subClassOf " + "[ owl:complementOf " * 20_000 + " ."
    yield " ".join(f"_:n{k} owl:unionOf _:n{k + 1} ; owl:oneOf _:n{k + 1} ." for k in range(2_000))
    yield "_:a owl:complementOf _:b . _:b owl:complementOf _:a . o:C rdfs:subClassOf _:a ."
    yield "\n".join(f"o:x{k} a o:C{k} ; o:p{k} o:x{k + 1} ." for k in MANY)
    yield "o:x a owl:Nothing . owl:Nothing a owl:Nothing ."


def kinds(name) -> list[Hostile]:
    """Return hostile answers to a family; those added to a right one may be right."""
    case = question(f"{name}-natural-3")
    reference = catalogue.module(name).reference(case)
    beside = [
        reference.replace("\n```", f"\n{text}\n```") for text in (*explosions(), *odd_axioms(URL))
    ]
    return [
        Hostile(answers(*explosions()), REFUSED),
        Hostile(answers(*lists()), USABLE),
        Hostile(answers(*odd_axioms(URL)), USABLE),
        Hostile((*beside, f"```turtle\n{noise(4, 2_000)}\n```"), JUDGED_OR_ENDED),
    ]
