# SPDX-License-Identifier: Apache-2.0
"""The agent ``searcher``: a script that finds a query from the words of a question.

It reads the schema, looks for the things that the question names, and describes the first three.
The class whose name the question has first is asked for; each thing becomes a condition by the
property that leads to it and sounds most like the words before it, each bound of a number or date
one by the property that sounds like it. It tries its query, and gives up where a name is unknown or
no property fits. It knows no negation, no groups and no order, so it scores between chance and a
good model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgbench.model import Json
from kgbench.tasks.label_index import words

Call = tuple[str, dict[str, Json]]

_FOUND: Final = re.compile(r"<(?P<iri>[^<>\s]+)> \((?P<kinds>[^()]*)\)(?:: (?P<names>.*))?")
_CLASS: Final = re.compile(r"(?P<term>\S+) \(instances: \d+(?:, label: (?P<label>[^)]*))?\)")
_PROPERTY: Final = re.compile(
    r"  (?P<term>\S+) \(triples: \d+(?:, label: (?P<label>[^)]*))?\) -> (?P<ends>.*)"
)
# A statement as the tool describe words it; a part in brackets is about a blank node.
_STATEMENT: Final = re.compile(
    r"(?P<s><[^<>]+>|\[\]) <(?P<p>[^<>]+)> (?P<o>.+?)(?: \[ <(?P<p2>[^<>]+)> (?P<o2>.+) \])?"
)
_PREFIX: Final = re.compile(r"PREFIX (\S*): <([^<>\s]*)>")
_NAME: Final = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+")
_BOUND: Final = re.compile(
    r"(?P<about>(?:[^\s,]+ ){1,6}?)is (?P<way>at least |at most |)(?P<value>\d[\d-]*)"
    r"(?P<date> or \w+|)"
)
_ENDINGS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_MOST_THINGS: Final = 3
_STEM: Final = 5  # characters of a word that count, so that founder sounds like founded
_NAMING: Final = re.compile(r"label|name|title", re.IGNORECASE)


class _Property(NamedTuple):
    term: str
    sounds: frozenset[str]
    of: str
    ends: tuple[str, ...]

    @property
    def leads_on(self) -> bool:
        """Whether it leads to other things than values."""
        return not all(end.startswith("xsd:") or end == "rdf:langString" for end in self.ends)


@dataclass(slots=True)
class _Schema:
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    properties: list[_Property] = field(default_factory=list)


def next_call(question: str, results: Sequence[str]) -> Call:
    """The tool to call after the ``results`` of the calls before, with its arguments."""
    if not results:
        return "schema", {}
    if len(results) == 1:
        return "search", {"text": question, "kind": "entity", "limit": 20}
    things = _things(question, results[1])
    if unknown := _unknown(question, things):
        return _cancel(f"the graph has nothing called {unknown}")
    described = results[2:]
    if len(described) < len(things):
        return "describe", {"iri": things[len(described)].iri, "limit": 100}
    query = _query(question, _schema(results[0]), things, described)
    if query is None:
        return _cancel("no property of the graph is what the question asks about")
    return ("answer" if len(described) > len(things) else "query"), {"sparql": query}


def _cancel(reason: str) -> Call:
    return "cancel", {"reason": reason}


class _Thing(NamedTuple):
    iri: str
    name: str


def _things(question: str, found: str) -> list[_Thing]:
    """The first things found whose whole names stand in the question, in its order."""
    asked = f" {' '.join(_plain(question))} "
    places: list[tuple[int, int, _Thing]] = []
    for match in filter(None, map(_FOUND.fullmatch, found.split("\n"))):
        local = re.split(r"[/#]", match["iri"])[-1]
        for name in [*(match["names"] or "").split("; "), local]:
            known = " ".join(_plain(name))
            at = asked.find(f" {known} ") if known else -1
            if at >= 0:
                places.append((at, -len(known), _Thing(match["iri"], name)))
                break
    return [thing for _, _, thing in sorted(places)][:_MOST_THINGS]


def _unknown(question: str, things: Sequence[_Thing]) -> str | None:
    """A name in the question, of two words or more, that nothing found has."""
    known = {thing.name for thing in things}
    names = [match.group() for match in _NAME.finditer(question) if match.start() > 0]
    return next((name for name in names if not any(one in name for one in known)), None)


def _query(
    question: str, schema: _Schema, things: Sequence[_Thing], described: Sequence[str]
) -> str | None:
    asked = _class(question, schema)
    own = [one for one in schema.properties if asked in {None, one.of}]
    conditions = [] if asked is None else [f"?x a {asked} ."]
    for thing, about in zip(things, described, strict=False):
        near = _stems(question[: _place(question, thing)][-60:])
        leading = {match["p"] for match in _statements(about) if match["s"] != f"<{thing.iri}>"}
        fitting = [one for one in own if one.term[1:-1] in leading]
        best = _best(near, fitting) or (fitting[0] if len(fitting) == 1 else None)
        if best is None:
            return _value(question, thing, about) if asked is None else None
        conditions.append(f"?x {best.term} <{thing.iri}> .")
    for match in _BOUND.finditer(question):
        best = _best(_stems(match["about"]), [one for one in own if not one.leads_on])
        if best is None:
            return None
        conditions.append(f"?x {best.term} ?v{match.start()} . {_filter(match)}")
    if not conditions:
        return None
    naming = next((one.term for one in own if _NAMING.search(one.term)), None)
    selected = "DISTINCT ?x"
    if question.lower().startswith("how many"):
        selected = "(COUNT(DISTINCT ?x) AS ?number)"
    elif naming is not None and "IRI" not in question:
        conditions.append(f"?x {naming} ?name .")
        selected = "DISTINCT ?name"
    return f"SELECT {selected} WHERE {{ {' '.join(conditions)} }}"


def _place(question: str, thing: _Thing) -> int:
    at = question.find(thing.name)
    return at if at >= 0 else len(question)


def _filter(match: re.Match[str]) -> str:
    value, variable = match["value"], f"?v{match.start()}"
    if match["date"]:
        sign = ">=" if "later" in match["date"] else "<="
        return f'FILTER(STR({variable}) {sign} "{value}")'
    return f"FILTER({variable} {'<=' if 'most' in match['way'] else '>='} {value})"


def _class(question: str, schema: _Schema) -> str | None:
    """The class whose name the question has first."""
    stems = [_stem(word) for word in _plain(question)]
    places = {
        term: min((stems.index(one) for one in sounds if one in stems), default=len(stems))
        for term, sounds in schema.classes.items()
    }
    first = min(places, key=lambda term: (places[term], term), default=None)
    return first if first is not None and places[first] < len(stems) else None


def _best(near: set[str], among: Sequence[_Property]) -> _Property | None:
    """The property that shares most stems with the words near a thing, if it shares any."""
    best = max(among, key=lambda one: (len(one.sounds & near), one.term), default=None)
    return best if best is not None and best.sounds & near else None


def _value(question: str, thing: _Thing, described: str) -> str | None:
    """A query for the value, of what was described, whose property sounds like the question."""
    asked = _stems(question)
    patterns = [
        (len(_stems(sounds) & asked), pattern)
        for found in _statements(described)
        for pattern, sounds in [_pattern(found, f"<{thing.iri}>")]
    ]
    return f"SELECT ?x WHERE {{ {max(patterns)[1]} }}" if patterns else None


def _statements(described: str) -> list[re.Match[str]]:
    return list(filter(None, map(_STATEMENT.fullmatch, described.split("\n"))))


def _pattern(found: re.Match[str], node: str) -> tuple[str, str]:
    """A graph pattern that asks for the value in a statement, and what its property is called."""
    s, p, p2 = found["s"], found["p"], found["p2"]
    sounds = re.split(r"[/#]", p2 or p)[-1]
    if s == node:
        return (f"{s} <{p}> [ <{p2}> ?x ]" if p2 else f"{s} <{p}> ?x"), sounds
    return (f"[] <{p}> {node} ; <{p2}> ?x" if p2 else f"?x <{p}> {node}"), sounds


def _schema(text: str) -> _Schema:
    """What the tool schema told, with IRIs written whole."""
    spaces = dict(_PREFIX.findall(text))
    found = _Schema()
    of = ""
    for line in text.split("\n"):
        if match := _CLASS.fullmatch(line):
            of = _whole(match["term"], spaces)
            found.classes[of] = frozenset(_stems(match["label"] or _local(of)))
        elif match := _PROPERTY.fullmatch(line):
            sounds = frozenset(_stems(f"{match['label'] or ''} {_local(match['term'])}"))
            ends = tuple(match["ends"].split(", "))
            found.properties.append(_Property(_whole(match["term"], spaces), sounds, of, ends))
    return found


def _whole(term: str, spaces: Mapping[str, str]) -> str:
    prefix, _, local = term.partition(":")
    return term if term.startswith("<") else f"<{spaces[prefix]}{local}>"


def _local(term: str) -> str:
    return re.split(r"[/#:]", term.strip("<>"))[-1]


def _plain(text: str) -> list[str]:
    """The words of a text, in order."""
    return [word for piece in text.split() for word in sorted(words([piece]))]


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in words([text])} - _SMALL


def _stem(word: str) -> str:
    for ending, other in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return (word[: -len(ending)] + other)[:_STEM]
    return word[:_STEM]


_SMALL: Final = frozenset(
    _stem(word)
    for word in (
        *("a", "all", "and", "are", "at", "by", "for", "from", "have", "how", "in", "is", "many"),
        *("name", "names", "of", "on", "one", "or", "that", "the", "their", "to", "was", "were"),
        *("what", "which", "who", "whose", "with"),
    )
)
