# SPDX-License-Identifier: Apache-2.0
"""Scripted agents without a model, as baselines for dialogues with tools over a graph.

They need no provider and help to interpret scores with tools: ``oracle`` runs the reference query
and gives it as its answer, or gives up if there is none; ``schema-only`` reads the schema once and
asks for all instances of its first class; ``random-walker`` follows random links and asks about the
last node.

The agent ``searcher`` finds a query from the words of a question. It reads the schema, searches for
the things in the question, and describes the first three. Its query selects instances of the first
class in the question. Each thing becomes a condition on the property that leads to it and best
matches the words before it; each bound of a number or date becomes a condition on the property that
matches its words. The agent tries its query once, and gives up if a name is unknown or no property
matches. It supports no negation, grouping or order, so its scores are between chance and a good
model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from kgbench.api import Case, Json
from kgbench.plugins.agents.label_index import words
from kgbench.tools import wording

_STEPS: Final = 4  # of the random walker
_IRI: Final = re.compile(r"<([^<>\s]+)>")
_CLASS: Final = re.compile(r"(\S+) \(instances: ")
_PREFIX: Final = re.compile(r"PREFIX [^\n]+")
_SEARCH_RESULT: Final = re.compile(r"<(?P<iri>[^<>\s]+)> \((?P<kinds>[^()]*)\)(?:: (?P<names>.*))?")
_CLASS_LINE: Final = re.compile(r"(?P<term>\S+) \(instances: \d+(?:, label: (?P<label>[^)]*))?\)")
_PROPERTY: Final = re.compile(
    r"  (?P<term>\S+) \(triples: \d+(?:, label: (?P<label>[^)]*))?\) -> (?P<ends>.*)"
)
# A statement in the form of the tool describe; a part in brackets is about a blank node.
_STATEMENT: Final = re.compile(
    r"(?P<s><[^<>]+>|\[\]) <(?P<p>[^<>]+)> (?P<o>.+?)(?: \[ <(?P<p2>[^<>]+)> (?P<o2>.+) \])?"
)
_NAMESPACE: Final = re.compile(r"PREFIX (\S*): <([^<>\s]*)>")
_NAME: Final = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+")
_BOUND: Final = re.compile(
    r"(?P<about>(?:[^\s,]+ ){1,6}?)is (?P<way>at least |at most |)(?P<value>\d[\d-]*)"
    r"(?P<date> or \w+|)"
)
_ENDINGS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_MOST_THINGS: Final = 3
_STEM: Final = 5  # characters of a word that count, so that founder matches founded
_NAMING: Final = re.compile(r"label|name|title", re.IGNORECASE)


def say(name: str, case: Case, messages: Sequence[str], chance: Random) -> str:
    """Return the next message of the agent ``name`` after ``messages``, in the text protocol."""
    results_by_prompt = [wording.split_results(prompt)[0] for prompt in messages[2::2]]
    results = [result[0].text if result else "" for result in results_by_prompt]
    return _AGENTS[name](case, results, chance)


def best(case: Case) -> str:
    """Return the best last answer to ``case``: its reference query, or giving up if it has none."""
    query = case.data["refSparql"]
    if query is None:
        return _call("cancel", reason="the graph cannot answer the question")
    return _call("answer", sparql=query.strip())


def _oracle(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    query = case.data["refSparql"]
    return best(case) if results or query is None else _call("query", sparql=query.strip())


def _schema_only(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    if not results:
        return _call("schema")
    first_class = _CLASS.search(results[0])
    if first_class is None:
        return _call("cancel", reason="the graph has no class")
    prefixes = " ".join(_PREFIX.findall(results[0]))
    return _call(
        "answer", sparql=f"{prefixes} SELECT ?x WHERE {{ ?x a {first_class.group(1)} }}".strip()
    )


def _random_walker(case: Case, results: Sequence[str], chance: Random) -> str:
    if not results:
        return _call("search", text=case.data["question"])
    iris = list(dict.fromkeys(iri for result in results for iri in _IRI.findall(result)))
    if not iris:
        return _call("cancel", reason="nothing was found")
    node = chance.choice(iris)
    if len(results) < _STEPS:
        return _call("describe", iri=node)
    return _call("answer", sparql=f"SELECT ?x WHERE {{ <{node}> ?p ?x }}")


def _searcher(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    tool, arguments = _next_call(case.data["question"], results)
    return _call(tool, **arguments)


def _call(tool: str, **arguments: Json) -> str:
    call = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
    return f"```json\n{call}\n```"


_AGENTS: Final[Mapping[str, Callable[[Case, Sequence[str], Random], str]]] = {
    "oracle": _oracle,
    "schema-only": _schema_only,
    "random-walker": _random_walker,
    "searcher": _searcher,
}


# --- the searching agent --------------------------------------------------------------------------


class _Property(NamedTuple):
    term: str
    stems: frozenset[str]
    of: str
    ends: tuple[str, ...]

    @property
    def leads_on(self) -> bool:
        """Whether values of the property are resources."""
        return not all(end.startswith("xsd:") or end == "rdf:langString" for end in self.ends)


@dataclass(slots=True)
class _Schema:
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    properties: list[_Property] = field(default_factory=list)


def _next_call(question: str, results: Sequence[str]) -> tuple[str, dict[str, Json]]:
    """Return the next tool to call after the ``results`` of earlier calls, with its arguments."""
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


def _cancel(reason: str) -> tuple[str, dict[str, Json]]:
    return "cancel", {"reason": reason}


class _Thing(NamedTuple):
    iri: str
    name: str


def _things(question: str, search_result: str) -> list[_Thing]:
    """Return the first search results whose full names are in the question, in its order."""
    question_words = f" {' '.join(_ordered_words(question))} "
    matches: list[tuple[int, int, _Thing]] = []
    for match in filter(None, map(_SEARCH_RESULT.fullmatch, search_result.split("\n"))):
        local = re.split(r"[/#]", match["iri"])[-1]
        for name in [*(match["names"] or "").split("; "), local]:
            name_words = " ".join(_ordered_words(name))
            position = question_words.find(f" {name_words} ") if name_words else -1
            if position >= 0:
                matches.append((position, -len(name_words), _Thing(match["iri"], name)))
                break
    return [thing for _, _, thing in sorted(matches)][:_MOST_THINGS]


def _unknown(question: str, things: Sequence[_Thing]) -> str | None:
    """Return a name of two words or more in the question that no search result has."""
    known_names = {thing.name for thing in things}
    names = [match.group() for match in _NAME.finditer(question) if match.start() > 0]
    return next(
        (name for name in names if not any(known_name in name for known_name in known_names)), None
    )


def _query(
    question: str, schema: _Schema, things: Sequence[_Thing], described: Sequence[str]
) -> str | None:
    class_term = _class(question, schema)
    properties = [
        property_ for property_ in schema.properties if class_term in {None, property_.of}
    ]
    conditions = [] if class_term is None else [f"?x a {class_term} ."]
    for thing, description in zip(things, described, strict=False):
        near_stems = _stems(question.partition(thing.name)[0][-60:])
        leading = {
            match["p"] for match in _statements(description) if match["s"] != f"<{thing.iri}>"
        }
        fitting = [property_ for property_ in properties if property_.term[1:-1] in leading]
        best = _best(near_stems, fitting) or (fitting[0] if len(fitting) == 1 else None)
        if best is None:
            return _value(question, thing, description) if class_term is None else None
        conditions.append(f"?x {best.term} <{thing.iri}> .")
    for match in _BOUND.finditer(question):
        best = _best(
            _stems(match["about"]),
            [property_ for property_ in properties if not property_.leads_on],
        )
        if best is None:
            return None
        conditions.append(f"?x {best.term} ?v{match.start()} . {_filter(match)}")
    if not conditions:
        return None
    naming = next(
        (property_.term for property_ in properties if _NAMING.search(property_.term)), None
    )
    selected = "DISTINCT ?x"
    if question.lower().startswith("how many"):
        selected = "(COUNT(DISTINCT ?x) AS ?number)"
    elif naming is not None and "IRI" not in question:
        conditions.append(f"?x {naming} ?name .")
        selected = "DISTINCT ?name"
    return f"SELECT {selected} WHERE {{ {' '.join(conditions)} }}"


def _filter(match: re.Match[str]) -> str:
    value, variable = match["value"], f"?v{match.start()}"
    if match["date"]:
        sign = ">=" if "later" in match["date"] else "<="
        return f'FILTER(STR({variable}) {sign} "{value}")'
    return f"FILTER({variable} {'<=' if 'most' in match['way'] else '>='} {value})"


def _class(question: str, schema: _Schema) -> str | None:
    stems = [_stem(word) for word in _ordered_words(question)]
    positions = {
        term: min((stems.index(stem) for stem in sounds if stem in stems), default=len(stems))
        for term, sounds in schema.classes.items()
    }
    first = min(positions, key=lambda term: (positions[term], term), default=None)
    return first if first is not None and positions[first] < len(stems) else None


def _best(stems: set[str], candidates: Sequence[_Property]) -> _Property | None:
    """Return the property that shares most stems with the words near a thing.

    The result is ``None`` if no property shares a stem.
    """
    best = max(
        candidates,
        key=lambda property_: (len(property_.stems & stems), property_.term),
        default=None,
    )
    return best if best is not None and best.stems & stems else None


def _value(question: str, thing: _Thing, described: str) -> str | None:
    """Return a query for a described thing's value whose property best matches the question."""
    question_stems = _stems(question)
    patterns = [
        (len(_stems(sounds) & question_stems), pattern)
        for statement in _statements(described)
        for pattern, sounds in [_pattern(statement, f"<{thing.iri}>")]
    ]
    return f"SELECT ?x WHERE {{ {max(patterns)[1]} }}" if patterns else None


def _statements(described: str) -> list[re.Match[str]]:
    return list(filter(None, map(_STATEMENT.fullmatch, described.split("\n"))))


def _pattern(statement: re.Match[str], node: str) -> tuple[str, str]:
    """Return a graph pattern for the value in a statement, and the name of its property."""
    s, p, p2 = statement["s"], statement["p"], statement["p2"]
    property_name = re.split(r"[/#]", p2 or p)[-1]
    if s == node:
        return (f"{s} <{p}> [ <{p2}> ?x ]" if p2 else f"{s} <{p}> ?x"), property_name
    return (f"[] <{p}> {node} ; <{p2}> ?x" if p2 else f"?x <{p}> {node}"), property_name


def _schema(text: str) -> _Schema:
    spaces = dict(_NAMESPACE.findall(text))
    schema = _Schema()
    class_iri = ""
    for line in text.split("\n"):
        if match := _CLASS_LINE.fullmatch(line):
            class_iri = _full_iri(match["term"], spaces)
            schema.classes[class_iri] = frozenset(_stems(match["label"] or _local(class_iri)))
        elif match := _PROPERTY.fullmatch(line):
            stems = frozenset(_stems(f"{match['label'] or ''} {_local(match['term'])}"))
            ends = tuple(match["ends"].split(", "))
            schema.properties.append(
                _Property(_full_iri(match["term"], spaces), stems, class_iri, ends)
            )
    return schema


def _full_iri(term: str, spaces: Mapping[str, str]) -> str:
    prefix, _, local = term.partition(":")
    return term if term.startswith("<") else f"<{spaces[prefix]}{local}>"


def _local(term: str) -> str:
    return re.split(r"[/#:]", term.strip("<>"))[-1]


def _ordered_words(text: str) -> list[str]:
    return [word for piece in text.split() for word in sorted(words([piece]))]


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in words([text])} - _SMALL


def _stem(word: str) -> str:
    for ending, other in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return (word[: -len(ending)] + other)[:_STEM]
    return word[:_STEM]


_SMALL: Final = frozenset(
    map(
        _stem,
        words(
            [
                "a all and are at by for from have how in is many name names of on one or that the",
                "their to was were what which who whose with",
            ]
        ),
    )
)
