# SPDX-License-Identifier: Apache-2.0
"""Induction of mappings: rules that produce a given graph from records.

Each rule turns the records of one listing into triples of one predicate. A text can be derived from
a record if whole words of the text are values of the record: replacing them by references gives a
template. A rule is correct if the graph has all triples that it produces. Rules are chosen until no
further rule adds triples. Joins are not needed, because IRIs are made of keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.api import RDF
from kgbench.mapping.document import FORMULATION_OF
from kgbench.mapping.execution import Template, encode_for_iri
from kgbench.mapping.limits import Budget
from kgbench.mapping.listings import Listing

Term: TypeAlias = ox.NamedNode | ox.Literal
_MAPS: Final = "https://w3id.org/kgbench/world/map/"


class Kind(NamedTuple):
    """The kind of a term: its datatype and language; IRIs have neither."""

    datatype: str | None = None
    language: str | None = None

    @property
    def is_iri(self) -> bool:
        """Whether the terms are IRIs."""
        return self.datatype is None


class Rule(NamedTuple):
    """A rule for the triples of each record of a listing; the object of types is a constant."""

    listing: Listing
    subject: Template
    predicate: str
    object: Template
    kind: Kind

    @property
    def is_type(self) -> bool:
        """Whether the rule states a class."""
        return not self.object.references

    def triples(self) -> set[ox.Triple]:
        """Return the triples that the rule produces."""
        result: set[ox.Triple] = set()
        for record in self.listing.records:
            for subject in _filled(self.subject, record, encode_for_iri):
                encoder = encode_for_iri if self.kind.is_iri else str
                for text in _filled(self.object, record, encoder):
                    object_ = term(text, self.kind)
                    result.add(
                        ox.Triple(ox.NamedNode(subject), ox.NamedNode(self.predicate), object_)
                    )
        return result


class Induced(NamedTuple):
    """The rules of a graph, and the triples that cannot be derived from any record."""

    rules: tuple[Rule, ...]
    beyond: frozenset[ox.Triple]


def induce_rules(graph: Iterable[ox.Triple], listings: Sequence[Listing]) -> Induced:
    """Induce the rules that produce ``graph`` from the records of listings.

    Rules are chosen greedily by the number of new triples. Ties go to the rule with the fewest idle
    records (those without a triple, or with one that another record produces), then to the one with
    the fewest references, then to the first.
    """
    groups: dict[tuple[str, Kind, str], set[ox.Triple]] = {}
    for triple in graph:
        groups.setdefault(_group(triple), set()).add(triple)
    rules: list[Rule] = []
    beyond: set[ox.Triple] = set()
    for key in sorted(groups, key=repr):
        group = groups[key]
        candidates = [(rule, rule.triples()) for rule in _candidates(group, listings)]
        correct = sorted((pair for pair in candidates if pair[1] <= group), key=_cost)
        missing = set(group)
        while correct and missing:
            rule, triples = max(correct, key=lambda pair: len(pair[1] & missing))
            if not triples & missing:
                break
            rules.append(rule)
            missing -= triples
        beyond |= missing
    return Induced(tuple(rules), frozenset(beyond))


def term(text: str, kind: Kind) -> Term:
    """Build a term of a kind."""
    if kind.is_iri:
        return ox.NamedNode(text)
    if kind.language is not None:
        return ox.Literal(text, language=kind.language)
    return ox.Literal(text, datatype=ox.NamedNode(kind.datatype or ""))


def kind_of(value: object) -> Kind:
    """Return the kind of a term."""
    if isinstance(value, ox.Literal):
        return Kind(value.datatype.value, value.language)
    return Kind()


def _group(triple: ox.Triple) -> tuple[str, Kind, str]:
    """Return predicate and kind of the object, and for types also the class."""
    value = triple.object
    if _is_type(triple) and isinstance(value, ox.NamedNode):
        return triple.predicate.value, Kind(), value.value
    return triple.predicate.value, kind_of(value), ""


def _is_type(triple: ox.Triple) -> bool:
    return triple.predicate.value == str(RDF.type) and isinstance(triple.object, ox.NamedNode)


def _candidates(group: Iterable[ox.Triple], listings: Sequence[Listing]) -> Iterator[Rule]:
    triples = [
        (triple, triple.subject.value, triple.object.value)
        for triple in sorted(group, key=str)
        if isinstance(triple.subject, ox.NamedNode)
        and isinstance(triple.object, ox.NamedNode | ox.Literal)
    ]
    seen: set[tuple[object, ...]] = set()
    for listing in listings:
        for record in listing.records:
            for triple, subject_iri, text in triples:
                kind = kind_of(triple.object)
                subject = _template(subject_iri, record, encode_for_iri)
                object_: Template | None = Template((text,), ())
                if not _is_type(triple):
                    encoder = encode_for_iri if kind.is_iri else str
                    object_ = _template(text, record, encoder)
                key = (listing.file, listing.iterator, subject, object_)
                if subject is not None and object_ is not None and key not in seen:
                    seen.add(key)
                    yield Rule(listing, subject, triple.predicate.value, object_, kind)


def _template(
    text: str, record: Mapping[str, str], encoder: Callable[[str], str]
) -> Template | None:
    """Replace the values of a record that are whole words of a text; ``None`` if there are none."""
    names: dict[str, str] = {}
    for name, value in record.items():
        names.setdefault(encoder(value), name)
    values = "|".join(re.escape(value) for value in sorted(names, key=len, reverse=True))
    parts = re.split(rf"(?<![^\W_])({values})(?![^\W_])", text) if values else [text]
    if len(parts) == 1:
        return None
    return Template(tuple(parts[::2]), tuple(names[value] for value in parts[1::2]))


def _filled(
    template: Template, record: Mapping[str, str], encoder: Callable[[str], str]
) -> list[str]:
    def values(name: str) -> list[str]:
        return [record[name]] if name in record else []

    return template.filled(values, encoder, Budget())


def _cost(candidate: tuple[Rule, set[ox.Triple]]) -> tuple[int, int]:
    rule, triples = candidate
    idle = len(rule.listing.records) - len(triples)
    return idle, len(rule.subject.references) + len(rule.object.references)


# Writing


def mapping(rules: Sequence[Rule]) -> str:
    """Write rules as a mapping in RML core, in Turtle."""
    maps: dict[tuple[str, str, Template], list[Rule]] = {}
    for rule in rules:
        maps.setdefault((rule.listing.file, rule.listing.iterator, rule.subject), []).append(rule)
    texts = [
        _triples_map(number, rules_of_map) for number, rules_of_map in enumerate(maps.values(), 1)
    ]
    return "\n\n".join([f"@prefix r: <http://w3id.org/rml/> .\n@prefix m: <{_MAPS}> .", *texts])


def _triples_map(index: int, rules: Sequence[Rule]) -> str:
    listing = rules[0].listing
    types = [rule for rule in rules if rule.is_type]
    subject = [f"r:template {_written(rules[0].subject, listing)}"]
    subject += [f"r:class <{rule.object.pieces[0]}>" for rule in types]
    name, iterator = _quoted(listing.file), _quoted(listing.iterator)
    source = f"[ a r:RelativePathSource ; r:root r:MappingDirectory ; r:path {name} ]"
    formulation = f"r:referenceFormulation r:{FORMULATION_OF[listing.form]}"
    iterated = f"{formulation} ;\n        r:iterator {iterator}"
    parts = [
        f"m:map{index} a r:TriplesMap",
        f"r:logicalSource [ r:source {source} ;\n        {iterated} ]",
        f"r:subjectMap [ {' ; '.join(subject)} ]",
    ]
    parts += [
        f"r:predicateObjectMap [ r:predicate <{rule.predicate}> ;\n        {_object(rule)} ]"
        for rule in rules
        if not rule.is_type
    ]
    return " ;\n    ".join(parts) + " ."


def _object(rule: Rule) -> str:
    pieces, references = rule.object
    if not rule.kind.is_iri and pieces == ("", ""):
        properties = [f"r:reference {_quoted(rule.listing.path(references[0]))}"]
    else:
        properties = [f"r:template {_written(rule.object, rule.listing)}"]
    if not rule.kind.is_iri:
        properties.append("r:termType r:Literal")
    if rule.kind.language is not None:
        properties.append(f"r:language {_quoted(rule.kind.language)}")
    elif rule.kind.datatype is not None:  # also xsd:string, for numbers of JSON
        properties.append(f"r:datatype <{rule.kind.datatype}>")
    return f"r:objectMap [ {' ; '.join(properties)} ]"


def _written(template: Template, listing: Listing) -> str:
    return _quoted(template_text(template, listing.path))


def template_text(template: Template, name: Callable[[str], str] = str) -> str:
    """Write a template as text; ``name`` converts references."""
    texts = [re.sub(r"([{}\\])", r"\\\1", piece) for piece in template.pieces]
    names = [f"{{{name(reference)}}}" for reference in template.references]
    return "".join(part for pair in zip(texts, [*names, ""], strict=True) for part in pair)


def _quoted(text: str) -> str:
    return str(ox.Literal(text))
