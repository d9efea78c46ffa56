# SPDX-License-Identifier: Apache-2.0
"""Inducing a mapping: the rules by which records make a given graph.

Each rule turns the records of one listing into triples of one predicate. A text follows from a
record where whole words of it are values of the record: replacing them by references gives a
template. A rule is right where it makes no triple that the graph does not have; rules are chosen
until no other makes further triples. Joins are not needed: IRIs follow from keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.mapping import templates
from kgbench.mapping.limits import Budget
from kgbench.mapping.listings import Listing
from kgbench.mapping.templates import Template
from kgbench.mapping.vocabularies import FORMULATION_OF
from kgbench.vocab import RDF

Term: TypeAlias = ox.NamedNode | ox.Literal
_MAPS: Final = "https://w3id.org/kgbench/world/map/"


class Kind(NamedTuple):
    """What terms have in common beside their texts; IRIs have neither datatype nor language."""

    datatype: str | None = None
    language: str | None = None

    @property
    def is_iri(self) -> bool:
        """Whether the terms are IRIs."""
        return self.datatype is None


class Rule(NamedTuple):
    """Which triples each record of a listing makes. The object of types is a constant."""

    listing: Listing
    subject: Template
    predicate: str
    object: Template
    kind: Kind

    @property
    def is_type(self) -> bool:
        """Whether the rule states a class, which is a constant."""
        return not self.object.references

    def made(self) -> set[ox.Triple]:
        """Return the triples that the rule makes."""
        found: set[ox.Triple] = set()
        for record in self.listing.records:
            for subject in _filled(self.subject, record, templates.encoded):
                encoder = templates.encoded if self.kind.is_iri else str
                for text in _filled(self.object, record, encoder):
                    object_ = term(text, self.kind)
                    found.add(
                        ox.Triple(ox.NamedNode(subject), ox.NamedNode(self.predicate), object_)
                    )
        return found


class Induced(NamedTuple):
    """The rules that were found, and the triples that follow from no record."""

    rules: tuple[Rule, ...]
    beyond: frozenset[ox.Triple]


def induced(graph: Iterable[ox.Triple], listings: Sequence[Listing]) -> Induced:
    """Return the rules by which records make ``graph``.

    Of rules that make as many triples that no other makes, that one is chosen which leaves fewest
    records idle (without a triple, or with one that another makes), then the one with fewest
    references, then the first.
    """
    groups: dict[tuple[str, Kind, str], set[ox.Triple]] = {}
    for triple in graph:
        groups.setdefault(_group(triple), set()).add(triple)
    rules: list[Rule] = []
    beyond: set[ox.Triple] = set()
    for key in sorted(groups, key=repr):
        group = groups[key]
        made = [(rule, rule.made()) for rule in _candidates(group, listings)]
        right = sorted((one for one in made if one[1] <= group), key=_cost)
        left = set(group)
        while right and left:
            rule, triples = max(right, key=lambda one: len(one[1] & left))
            if not triples & left:
                break
            rules.append(rule)
            left -= triples
        beyond |= left
    return Induced(tuple(rules), frozenset(beyond))


def term(text: str, kind: Kind) -> Term:
    """Return a term of a kind."""
    if kind.is_iri:
        return ox.NamedNode(text)
    if kind.language is not None:
        return ox.Literal(text, language=kind.language)
    return ox.Literal(text, datatype=ox.NamedNode(kind.datatype or ""))


def kind_of(of: object) -> Kind:
    """Return the kind of a term."""
    if isinstance(of, ox.Literal):
        return Kind(of.datatype.value, of.language)
    return Kind()


def _group(triple: ox.Triple) -> tuple[str, Kind, str]:
    """Predicate and kind of object; types are looked at class by class."""
    of_class = triple.object
    if _is_type(triple) and isinstance(of_class, ox.NamedNode):
        return triple.predicate.value, Kind(), of_class.value
    return triple.predicate.value, kind_of(of_class), ""


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
            for triple, of, text in triples:
                kind = kind_of(triple.object)
                subject = _template(of, record, templates.encoded)
                object_: Template | None = Template((text,), ())
                if not _is_type(triple):
                    encoder = templates.encoded if kind.is_iri else str
                    object_ = _template(text, record, encoder)
                key = (listing.file, listing.iterator, subject, object_)
                if subject is not None and object_ is not None and key not in seen:
                    seen.add(key)
                    yield Rule(listing, subject, triple.predicate.value, object_, kind)


def _template(
    text: str, record: Mapping[str, str], encoder: Callable[[str], str]
) -> Template | None:
    """A text with references in place of the values that stand in it as whole words, if any do."""
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


def _cost(made: tuple[Rule, set[ox.Triple]]) -> tuple[int, int]:
    rule, triples = made
    idle = len(rule.listing.records) - len(triples)
    return idle, len(rule.subject.references) + len(rule.object.references)


# Writing


def mapping(rules: Sequence[Rule]) -> str:
    """Rules as a mapping in RML core, in Turtle."""
    maps: dict[tuple[str, str, Template], list[Rule]] = {}
    for rule in rules:
        maps.setdefault((rule.listing.file, rule.listing.iterator, rule.subject), []).append(rule)
    texts = [_triples_map(number, of) for number, of in enumerate(maps.values(), 1)]
    return "\n\n".join([f"@prefix r: <http://w3id.org/rml/> .\n@prefix m: <{_MAPS}> .", *texts])


def _triples_map(number: int, rules: Sequence[Rule]) -> str:
    listing = rules[0].listing
    types = [rule for rule in rules if rule.is_type]
    subject = [f"r:template {_written(rules[0].subject, listing)}"]
    subject += [f"r:class <{rule.object.pieces[0]}>" for rule in types]
    name, iterator = _quoted(listing.file), _quoted(listing.iterator)
    source = f"[ a r:RelativePathSource ; r:root r:MappingDirectory ; r:path {name} ]"
    formulation = f"r:referenceFormulation r:{FORMULATION_OF[listing.form]}"
    iterated = f"{formulation} ;\n        r:iterator {iterator}"
    parts = [
        f"m:map{number} a r:TriplesMap",
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
        said = [f"r:reference {_quoted(rule.listing.path(references[0]))}"]
    else:
        said = [f"r:template {_written(rule.object, rule.listing)}"]
    if not rule.kind.is_iri:
        said.append("r:termType r:Literal")
    if rule.kind.language is not None:
        said.append(f"r:language {_quoted(rule.kind.language)}")
    elif rule.kind.datatype is not None:  # also xsd:string, for numbers of JSON
        said.append(f"r:datatype <{rule.kind.datatype}>")
    return f"r:objectMap [ {' ; '.join(said)} ]"


def _written(template: Template, listing: Listing) -> str:
    return _quoted(shown(template, listing.path))


def shown(template: Template, name: Callable[[str], str] = str) -> str:
    """Return a template as text; ``name`` says how references are written."""
    texts = [re.sub(r"([{}\\])", r"\\\1", piece) for piece in template.pieces]
    names = [f"{{{name(reference)}}}" for reference in template.references]
    return "".join(part for pair in zip(texts, [*names, ""], strict=True) for part in pair)


def _quoted(text: str) -> str:
    return str(ox.Literal(text))
