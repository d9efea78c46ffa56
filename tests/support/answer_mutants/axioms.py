# SPDX-License-Identifier: Apache-2.0
"""Changes of OWL axioms, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, permutations

from tests.support.answer_mutants import Operators, exchanged, replaced


def drop(text: str) -> Iterator[str]:
    """Leave out an axiom, or a member of a list of two."""
    for line in _axioms(text):
        yield text.replace(f"{line}\n", "")
    yield from replaced(text, {r"\( (o:\w+) (o:\w+) \)": (r"( \1 )", r"( \2 )")})


def widen(text: str) -> Iterator[str]:
    """Say less: one direction of an equivalence or inverse, all parts instead of one."""
    yield from replaced(
        text,
        {
            r"(o:\w+) owl:equivalentClass (o:\w+)": (
                r"\1 rdfs:subClassOf \2",
                r"\2 rdfs:subClassOf \1",
            ),
            r"(o:\w+) owl:inverseOf (o:\w+)": (r"\1 rdfs:subPropertyOf [ owl:inverseOf \2 ]",),
            "unionOf": ("intersectionOf",),
            "AsymmetricProperty": ("IrreflexiveProperty",),
        },
    )


def narrow(text: str) -> Iterator[str]:
    """Say more: an equivalence, any value, any part."""
    yield from replaced(
        text,
        {
            r"^(o:\w+) rdfs:subClassOf (o:\w+)": (r"\1 owl:equivalentClass \2",),
            "subPropertyOf": ("inverseOf", "equivalentProperty"),
            "intersectionOf": ("unionOf",),
            r"someValuesFrom o:\w+": ("someValuesFrom owl:Thing",),
            "maxCardinality": ("cardinality",),
            r"(\[ .* \]) rdfs:subClassOf (o:\w+)": (r"\2 owl:equivalentClass \1",),
        },
    )


def swap(text: str) -> Iterator[str]:
    """Take another name, exchange two, or another kind of axiom."""
    declared, _, stated = text.partition("\n\n")
    for kind in ("Class", "ObjectProperty"):
        names = "|".join(re.findall(rf"(o:\w+) a owl:{kind}", declared)) or "(?!)"
        for changed in exchanged(stated, rf"(?:{names})\b"):
            yield f"{declared}\n\n{changed}"
    yield from replaced(
        text,
        {
            r"^(o:\w+) (rdfs:sub\w+) (o:\w+)(?= \.)": (r"\3 \2 \1",),
            "rdfs:domain": ("rdfs:range",),
            "rdfs:range": ("rdfs:domain",),
            "disjointWith": ("equivalentClass",),
            "SymmetricProperty": ("TransitiveProperty",),
            "FunctionalProperty": ("SymmetricProperty",),
        },
    )


def add(text: str) -> Iterator[str]:
    """Say something that no sentence says."""
    classes = re.findall(r"(o:\w+) a owl:Class", text)
    properties = re.findall(r"(o:\w+) a owl:ObjectProperty", text)
    lines = [
        f"{one} {predicate} {other} ."
        for one, other in islice(permutations(classes, 2), 4)
        for predicate in ("rdfs:subClassOf", "owl:disjointWith")
        if f"{other} owl:disjointWith {one} ." not in text
    ]
    lines += [
        f"{prop} {predicate} {cls} ."
        for prop, cls in zip(properties, classes, strict=False)
        for predicate in ("rdfs:domain", "rdfs:range")
    ]
    lines += [
        f"{prop} a owl:{kind}Property ."
        for prop in properties[:2]
        for kind in ("Symmetric", "Transitive", "Functional", "Irreflexive")
    ]
    yield from (f"{text}\n{line}" for line in lines if line not in text)


def _axioms(text: str) -> list[str]:
    return [line for line in text.partition("\n\n")[2].splitlines() if line.endswith(".")]


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
