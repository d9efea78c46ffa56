# SPDX-License-Identifier: Apache-2.0
"""The schema of a graph as it is used: classes, their properties and the values of these, counted.

It is computed from the triples of the graph, so that prompts about any installed graph can show it.
The order is alphabetical and does not depend on how the graph is stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import pyoxigraph as ox

from kgbench.rdf.statements import void_partitions, void_totals
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
    """Counts of a graph's classes and properties, by IRI.

    ``instances`` counts the instances of each class, ``properties`` the triples of each property,
    ``uses`` the triples of each property by class of the subject. ``ends`` are the classes and
    datatypes of the values of a property of a class.
    """

    triples: int = 0
    instances: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    uses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ends: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    labels: dict[str, str] = field(default_factory=dict)


@cache
def summary(name: str) -> str:
    """Return the schema of the installed graph called ``name``; see :func:`schema_text`."""
    return schema_text(profile(graphs.text(name)))


def profile(document: str) -> Profile:
    """Count the classes and properties of the graph in a document (Turtle or N-Triples)."""
    triples = (quad.triple for quad in ox.parse(document, ox.RdfFormat.TURTLE))
    lines = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    assert lines is not None
    # The graph is read twice. Only N-Triples give blank nodes the same labels both times.
    return _profile(lambda: (quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)))


def schema_text(profile: Profile) -> str:
    """Return each class with its number of instances, label and used properties, then the prefixes.

    Each property is followed by the classes of its objects, or datatypes of its literals.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom" .'
    >>> print(schema_text(profile(data)))
    <urn:x:Cat> (instances: 1)
      <urn:x:name> -> xsd:string
    <BLANKLINE>
    PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    """
    return _written(profile, lambda property_, uses: "")  # noqa: ARG005 - nothing is added


def schema_with_counts(profile: Profile) -> str:
    """Like :func:`schema_text`, with the label of each property and its number of triples.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom", "Tim" .'
    >>> print(schema_with_counts(profile(data)).splitlines()[1])
      <urn:x:name> (triples: 2) -> xsd:string
    """

    def count_and_label(property_: str, uses: int) -> str:
        label = profile.labels.get(property_)
        return f" (triples: {uses}{'' if label is None else f', label: {label}'})"

    return _written(profile, count_and_label)


def void_description(profile: Profile) -> str:
    """Return a VoID description with counts of triples, class instances, and uses of properties."""
    dataset = ox.NamedNode(_DATASET)
    facts = {
        "triples": profile.triples,
        "classes": profile.instances,
        "properties": profile.properties,
    }
    quads = void_totals(dataset, facts) + void_partitions(dataset, facts, f"{_DATASET}:")
    triples = [ox.Triple(dataset, ox.NamedNode(_TYPE), ox.NamedNode(VOID.Dataset))]
    triples += [quad.triple for quad in quads]
    # The serialiser groups only adjacent triples with the same subject.
    triples.sort(key=lambda triple: (triple.subject != dataset, str(triple.subject)))
    prefixes = _Prefixes([*profile.instances, *profile.properties]).prefixes() | {"void": str(VOID)}
    serialised = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    assert serialised is not None
    return serialised.decode("utf-8")


def _profile(read: Callable[[], Iterator[ox.Triple]]) -> Profile:
    profile = Profile()
    # Few combinations of classes occur: subjects share their tuples to save memory.
    combinations: dict[tuple[str, ...], tuple[str, ...]] = {}
    classes: dict[object, tuple[str, ...]] = {}
    for triple in read():
        profile.triples += 1
        predicate = triple.predicate.value
        profile.properties[predicate] += 1
        if predicate == _TYPE and isinstance(triple.object, ox.NamedNode):
            combination = (*classes.get(triple.subject, ()), triple.object.value)
            classes[triple.subject] = combinations.setdefault(combination, combination)
            profile.instances[triple.object.value] += 1
    terms = profile.instances.keys() | profile.properties.keys()
    for triple in read():
        predicate = triple.predicate.value
        if predicate == _LABEL and isinstance(triple.object, ox.Literal):
            subject = getattr(triple.subject, "value", "")
            if subject in terms:
                profile.labels.setdefault(subject, triple.object.value)
        if predicate == _TYPE:
            continue
        ends = _ends(triple.object, classes)
        for of_class in classes.get(triple.subject, ()):
            profile.uses[of_class][predicate] += 1
            profile.ends[of_class, predicate].update(ends)
    return profile


def _ends(term: object, classes: Mapping[object, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(term, ox.Literal):
        return (term.datatype.value,)
    return classes.get(term) or (_UNTYPED,)


def _written(profile: Profile, suffix_of: Callable[[str, int], str]) -> str:
    """Write the schema in lines; ``said`` gives the text after a property and its count."""
    names = _Prefixes([*profile.instances, *(p for uses in profile.uses.values() for p in uses)])
    lines = []
    for of_class in sorted(profile.instances):
        label = profile.labels.get(of_class)
        shown_label = "" if label is None else f", label: {label}"
        lines.append(
            f"{names.short(of_class)} (instances: {profile.instances[of_class]}{shown_label})"
        )
        for property_, uses in sorted(profile.uses.get(of_class, {}).items()):
            ends = ", ".join(
                end if end == _UNTYPED else names.short(end)
                for end in sorted(profile.ends[of_class, property_])
            )
            lines.append(f"  {names.short(property_)}{suffix_of(property_, uses)} -> {ends}")
    return "\n".join([*lines, "", *names.declarations()])


class _Prefixes:
    """Shortens IRIs by usual prefixes, and by a numbered one for each other common namespace."""

    def __init__(self, iris: Iterable[str]) -> None:
        spaces = self._spaces = Counter(_space(iri) for iri in set(iris))
        others = sorted(name for name, times in spaces.items() if times > 1 and name not in _USUAL)
        self._prefixes = _USUAL | {space: f"ns{number + 1}" for number, space in enumerate(others)}
        self._used: set[str] = set()

    def short(self, iri: str) -> str:
        space = _space(iri)
        local = iri[len(space) :]
        if space not in self._prefixes or not local or not _LOCAL.issuperset(local):
            return f"<{iri}>"
        self._used.add(space)
        return f"{self._prefixes[space]}:{local}"

    def prefixes(self) -> dict[str, str]:
        """Return the namespaces of the IRIs by prefix."""
        return {prefix: space for space, prefix in self._prefixes.items() if space in self._spaces}

    def declarations(self) -> list[str]:
        return [f"PREFIX {self._prefixes[space]}: <{space}>" for space in sorted(self._used)]


def _space(iri: str) -> str:
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]
