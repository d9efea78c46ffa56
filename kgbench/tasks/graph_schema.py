# SPDX-License-Identifier: Apache-2.0
"""A graph's schema as it is used: classes, their properties, what these lead to, with numbers.

Made from the triples of the graph itself, so that prompts about any installed graph have it. The
order is alphabetical; nothing depends on how the graph is stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import pyoxigraph as ox

from kgbench.rdf import void
from kgbench.tasks import graphs
from kgbench.vocab import RDF, RDFS, VOID

_USUAL: Final = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2001/XMLSchema#": "xsd",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://purl.org/dc/terms/": "dcterms",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
}
_LOCAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_TYPE: Final = str(RDF.type)
_LABEL: Final = str(RDFS.label)
_UNTYPED: Final = "a resource without a class"
_DATASET: Final = "urn:kgbench:graph"


@dataclass(slots=True)
class Profile:
    """What a graph is made of, by IRI.

    ``instances`` counts those of each class, ``properties`` the triples of each property, ``uses``
    those of each property by the class of the subject. ``ends`` are the classes and datatypes that
    a property of a class leads to.
    """

    triples: int = 0
    instances: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    uses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ends: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    labels: dict[str, str] = field(default_factory=dict)


@cache
def summary(name: str) -> str:
    """The schema of the installed graph called ``name``; see :func:`summarised`."""
    return summarised(profile(graphs.text(name)))


def profile(document: str) -> Profile:
    """What the graph in a document (Turtle or N-Triples) is made of."""
    triples = (quad.triple for quad in ox.parse(document, ox.RdfFormat.TURTLE))
    lines = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    assert lines is not None
    # It is read twice. Only in N-Triples do blank nodes have the same labels both times.
    return _profile(lambda: (quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)))


def summarised(found: Profile) -> str:
    """Each class with its number of instances, label, and properties in use, then prefixes.

    What a property leads to are classes of its objects, or datatypes of literals.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom" .'
    >>> print(summarised(profile(data)))
    <urn:x:Cat> (instances: 1)
      <urn:x:name> -> xsd:string
    <BLANKLINE>
    PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    """
    return _written(found, lambda property_, uses: "")  # noqa: ARG005 - nothing is added


def counted(found: Profile) -> str:
    """As :func:`summarised`, with the label of each property and how often the class uses it.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom", "Tim" .'
    >>> print(counted(profile(data)).splitlines()[1])
      <urn:x:name> (triples: 2) -> xsd:string
    """

    def said(property_: str, uses: int) -> str:
        label = found.labels.get(property_)
        return f" (triples: {uses}{'' if label is None else f', label: {label}'})"

    return _written(found, said)


def in_void(found: Profile) -> str:
    """The numbers of triples, of instances of each class and of uses of each property, in VoID."""
    dataset = ox.NamedNode(_DATASET)
    facts = {
        "triples": found.triples,
        "classes": found.instances,
        "properties": found.properties,
    }
    quads = void.counts(dataset, facts) + void.partitions(dataset, facts, f"{_DATASET}:")
    triples = [ox.Triple(dataset, ox.NamedNode(_TYPE), ox.NamedNode(VOID.Dataset))]
    triples += [quad.triple for quad in quads]
    # Turtle groups neighbours only.
    triples.sort(key=lambda triple: (triple.subject != dataset, str(triple.subject)))
    prefixes = _Names([*found.instances, *found.properties]).prefixes() | {"void": str(VOID)}
    written = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    assert written is not None
    return written.decode("utf-8")


def _profile(read: Callable[[], Iterator[ox.Triple]]) -> Profile:
    found = Profile()
    # Few combinations of classes occur, so that each subject refers to one of them.
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    classes: dict[object, tuple[str, ...]] = {}
    for triple in read():
        found.triples += 1
        predicate = triple.predicate.value
        found.properties[predicate] += 1
        if predicate == _TYPE and isinstance(triple.object, ox.NamedNode):
            of = (*classes.get(triple.subject, ()), triple.object.value)
            classes[triple.subject] = known.setdefault(of, of)
            found.instances[triple.object.value] += 1
    wanted = found.instances.keys() | found.properties.keys()
    for triple in read():
        predicate = triple.predicate.value
        if predicate == _LABEL and isinstance(triple.object, ox.Literal):
            subject = getattr(triple.subject, "value", "")
            if subject in wanted:
                found.labels.setdefault(subject, triple.object.value)
        if predicate == _TYPE:
            continue
        ends = _ends(triple.object, classes)
        for of_class in classes.get(triple.subject, ()):
            found.uses[of_class][predicate] += 1
            found.ends[of_class, predicate].update(ends)
    return found


def _ends(term: object, classes: Mapping[object, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(term, ox.Literal):
        return (term.datatype.value,)
    return classes.get(term) or (_UNTYPED,)


def _written(found: Profile, said: Callable[[str, int], str]) -> str:
    """The schema in lines; ``said`` is what follows a property, given how often it is used."""
    names = _Names([*found.instances, *(p for one in found.uses.values() for p in one)])
    lines = []
    for of_class in sorted(found.instances):
        label = found.labels.get(of_class)
        shown = "" if label is None else f", label: {label}"
        lines.append(f"{names.short(of_class)} (instances: {found.instances[of_class]}{shown})")
        for property_, uses in sorted(found.uses.get(of_class, {}).items()):
            ends = ", ".join(
                one if one == _UNTYPED else names.short(one)
                for one in sorted(found.ends[of_class, property_])
            )
            lines.append(f"  {names.short(property_)}{said(property_, uses)} -> {ends}")
    return "\n".join([*lines, "", *names.declarations()])


class _Names:
    """Shortens IRIs by prefixes: the usual ones, and one for each namespace of several names."""

    def __init__(self, iris: Iterable[str]) -> None:
        spaces = self._spaces = Counter(_space(iri) for iri in set(iris))
        own = sorted(one for one, times in spaces.items() if times > 1 and one not in _USUAL)
        self._prefixes = _USUAL | {space: f"ns{number + 1}" for number, space in enumerate(own)}
        self._used: set[str] = set()

    def short(self, iri: str) -> str:
        space = _space(iri)
        local = iri[len(space) :]
        if space not in self._prefixes or not local or not _LOCAL.issuperset(local):
            return f"<{iri}>"
        self._used.add(space)
        return f"{self._prefixes[space]}:{local}"

    def prefixes(self) -> dict[str, str]:
        """The namespaces of the IRIs by prefix."""
        return {prefix: space for space, prefix in self._prefixes.items() if space in self._spaces}

    def declarations(self) -> list[str]:
        return [f"PREFIX {self._prefixes[space]}: <{space}>" for space in sorted(self._used)]


def _space(iri: str) -> str:
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]
