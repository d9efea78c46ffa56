# SPDX-License-Identifier: Apache-2.0
"""Seeded renamings of the cases about a graph: the same case under other names.

Names are replaced in graph, question, query and result set alike, so that a renamed case is as
difficult as the published one. *Natural* renamings put other words for names, and multiply
amounts by a factor; *opaque* ones put numbers for the local names of IRIs, with a table of what
they mean (:mod:`kgbench.tasks.numbering`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.scoring import result_sets
from kgbench.tasks import numbering, organisation, texts
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds import naming
from kgbench.worlds.naming import Chance

FOLDER: Final = "twins"
VERSION: Final = 1
"""Part of every seed: another version draws other names."""
TENTHS: Final = (6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17)
"""Amounts are multiplied by one of these, and divided by 10."""

_KEPT: Final = frozenset(("uid", "taskUid", "lsqFeatures", "graphFormat"))
_QUERIES: Final = frozenset(("refSparql", "testSparql"))
_VARIABLE: Final = re.compile(r"\?(\w+)")
_PLACE: Final = re.compile(r"\(at char (\d+)\), \(line:1, col:\d+\)")
_DRAWS: Final = 200  # of which hardly more than a few are needed
_AMOUNT: Final = re.compile(r"\d{5,}")
_USUAL: Final = {"rdf": str(RDF), "rdfs": str(RDFS), "owl": str(OWL), "xsd": str(XSD)}


@dataclass(frozen=True, slots=True)
class Source:
    """Published cases about one graph: their data, and the graph in Turtle.

    ``name`` is that of the kinds of names in ``names.json``; numbers replace local names with the
    ``prefixes``. The data of a case hold the graph as ``graphTurtle``, where they do.
    """

    name: str
    graph: str
    cases: Sequence[Mapping[str, Json]]
    prefixes: tuple[str, ...] = ()


def natural(source: Source, *seed: object) -> list[dict[str, Json]]:
    """The data of all cases of a source with other words for names.

    The names of a kind keep their alphabetical order, and a draw counts only where the reference
    queries find in the renamed graph what they found before, renamed. Raises
    :class:`~kgbench.errors.TaskError` where no draw does.
    """
    declared = texts.shared_structure(FOLDER, "names.json")[source.name]
    chance = Chance(VERSION, source.name, "natural", *seed)
    for _ in range(_DRAWS):
        words = drawn(declared["kinds"], source.graph.lower(), chance)
        tenths = chance.one(TENTHS)
        replaced = _replacer(words)
        graph = _scaled_graph(replaced(source.graph), declared["scaled"], tenths)
        found = []
        for case in source.cases:
            renamed = _with_variables(case, replaced, chance) if "testSparql" in case else replaced
            data = {key: _renamed(key, value, renamed, case) for key, value in case.items()}
            if "graphTurtle" in data:
                data["graphTurtle"] = graph
            if declared["scaled"]:
                data["refResultSet"] = sorted(_scaled(v, tenths) for v in data["refResultSet"])
            found.append(data)
        if _answered(graph, found):
            return found
    raise TaskError(f"no renaming of the cases '{source.name}' keeps what their queries find")


def opaque(source: Source, *seed: object) -> list[dict[str, Json]]:
    """The data of all cases of a source with numbers for names.

    Cases that ask a question hold the table of the numbers, too.
    """
    salt = "/".join(map(str, (VERSION, source.name, "opaque", *seed)))
    numbers = numbering.numbered(source.graph, source.prefixes, salt)
    graph = numbering.translated(source.graph, numbers)

    def translated(text: str) -> str:
        return numbering.translated(text, numbers)

    chance, found = Chance(salt), []
    for case in source.cases:
        is_faulty = "testSparql" in case
        renamed = _with_variables(case, translated, chance) if is_faulty else translated
        data = dict(case)
        for key in _QUERIES & case.keys():
            data[key] = renamed(case[key])
        if "refResultSet" in case:
            data["refResultSet"] = sorted(numbers.get(v, v) for v in case["refResultSet"])
        if "errorMessage" in case:
            data["errorMessage"] = _moved(case, renamed)
        if "path" in case:
            data["path"] = [numbers[f":{name}"].removeprefix(":") for name in case["path"]]
        if "graphTurtle" in case:
            data["graphTurtle"] = graph
        if "question" in case:
            data["entityHelpCsv"] = numbering.table(numbers)
        found.append(data)
    return found


RENAMINGS: Final[Mapping[str, Callable[..., list[dict[str, Json]]]]] = {
    "natural": natural,
    "opaque": opaque,
}


def _renamed(
    key: str, value: Json, replaced: Callable[[str], str], case: Mapping[str, Json]
) -> Json:
    """A value of the data of a case, under other words."""
    if key == "errorMessage":
        return _moved(case, replaced)
    if key in _KEPT or not isinstance(value, str | list):
        return value
    if isinstance(value, str):
        return replaced(value)
    words = [replaced(each) for each in value]
    return sorted(words) if key == "refResultSet" else words


def _with_variables(
    case: Mapping[str, Json], replaced: Callable[[str], str], chance: Chance
) -> Callable[[str], str]:
    """Replaces names, and the variables of the reference query by invented words.

    A fault may have taken the mark of a variable away, so they are replaced without it, too.
    """
    names = sorted(set(_VARIABLE.findall(case["refSparql"])))
    words: dict[str, None] = {}
    while len(words) < len(names):
        words[naming.word(chance).lower()] = None
    found = dict(zip(names, words, strict=True))
    pattern = re.compile(rf"(?<![\w:\"])({'|'.join(names)})(?![\w:])")
    return lambda text: pattern.sub(lambda match: found[match[0]], replaced(text))


def _moved(case: Mapping[str, Json], replaced: Callable[[str], str]) -> str:
    """What a parser says of a faulty query of one line, at the place where the fault now is."""

    def at(match: re.Match[str]) -> str:
        place = len(replaced(case["testSparql"][: int(match[1])]))
        return f"(at char {place}), (line:1, col:{place + 1})"

    return _PLACE.sub(at, case["errorMessage"])


def drawn(kinds: Sequence[Mapping[str, Any]], taken: str, chance: Chance) -> dict[str, str]:
    """A new word for each name, none of which occurs in the text ``taken`` (in lower case)."""
    found: dict[str, str] = {}
    for kind in kinds:
        names = sorted(kind["names"])
        pool = chance.shuffled(kind["drawn"])
        words: list[str] = []
        while len(words) < len(names):
            word = pool.pop() if kind["drawn"] else naming.word(chance).lower()
            fits = word.endswith(kind.get("ending", "")) and word.lower() not in taken
            if fits and word not in words and word not in found.values():
                words.append(word)
        found |= zip(names, sorted(words), strict=True)
    return found


def _replacer(words: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces names where they are words, or parts of an identifier: ``anne``, ``PortSelby``.

    A name in small letters also stands for itself with a capital, and then for its adjective in
    ``n``, too. Any other name stands for itself alone, with underscores for blanks in IRIs.
    """
    patterns, found = [], {}
    for name, word in words.items():
        if name.islower():
            patterns.append(rf"(?<![A-Za-z]){name}(?![a-z])")
            patterns.append(rf"(?<![A-Z]){name.capitalize()}(?=n?(?![a-z]))")
            found[name.capitalize()] = word.capitalize()
        else:
            forms = {name: word, name.replace(" ", "_"): word.replace(" ", "_")}
            escaped = map(re.escape, forms)
            patterns += [rf"(?<![A-Za-z0-9]){form}(?![A-Za-z0-9])" for form in escaped]
            found |= forms
        found[name] = word
    pattern = re.compile("|".join(patterns))
    return lambda text: pattern.sub(lambda match: found[match[0]], text)


def _scaled_graph(graph: str, properties: Sequence[str], tenths: int) -> str:
    """A graph in Turtle with the integers of some properties multiplied by ``tenths`` / 10."""
    if not properties:
        return graph
    amounts = re.compile(rf"({'|'.join(map(re.escape, properties))}) (\d+)")
    return amounts.sub(lambda match: f"{match[1]} {int(match[2]) * tenths // 10}", graph)


def _scaled(value: str, tenths: int) -> str:
    """An amount of a result set, multiplied by ``tenths`` / 10; any other value as it is."""
    return str(int(value) * tenths // 10) if _AMOUNT.fullmatch(value) else value


def _answered(graph: str, cases: Sequence[Mapping[str, Json]]) -> bool:
    """Whether each reference query finds the values that its case expects."""
    if not any("refSparql" in case for case in cases):
        return True
    store = ox.Store()
    store.load(graph.encode("utf-8"), ox.RdfFormat.TURTLE)
    prefixes = _USUAL | organisation.prefixes(graph)
    for case in cases:
        solutions: Any = store.query(case["refSparql"], prefixes=prefixes)
        terms = {str(term) for row in solutions for term in row if term is not None}
        if {result_sets.written(term, prefixes) for term in terms} != set(case["refResultSet"]):
            return False
    return True
