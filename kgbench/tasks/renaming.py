# SPDX-License-Identifier: Apache-2.0
"""Seeded renamings of the cases about a graph: the same case under other names.

Names are replaced consistently in graph, question, query and result set, so that a renamed case is
as difficult as the published one. *Natural* renamings replace names by other words, and multiply
amounts by a factor; *opaque* ones replace the local names of IRIs by numbers, with a table of their
meanings (:func:`number_names`), so that nothing can be guessed from them. Names of rdf and rdfs are
kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.scoring import result_sets
from kgbench.tasks import serialising, texts
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds import naming
from kgbench.worlds.naming import Chance

_PREFIXES = ("", "foaf", "org", "vcard")
_TOKEN = re.compile(
    r"""(?P<kept>"(?:[^"\\\n]|\\.)*"|<[^<>\s]*>|\#[^\n]*|\?\w+)"""
    r"|(?P<prefix>[A-Za-z]*):(?P<local>[A-Za-z][\w-]*)"
)


def translate_names(text: str, numbers: Mapping[str, str]) -> str:
    """Replace the prefixed names in Turtle, a query or a value by those in ``numbers``.

    >>> translate_names('SELECT ?x { :bob foaf:name ?x }', {":bob": ":1234"})
    'SELECT ?x { :1234 foaf:name ?x }'
    """

    def replaced(match: re.Match[str]) -> str:
        return match[0] if match["kept"] else numbers.get(match[0], match[0])

    return _TOKEN.sub(replaced, text)


@lru_cache(maxsize=8)
def number_names(
    turtle: str, prefixes: tuple[str, ...] = _PREFIXES, salt: str = ""
) -> dict[str, str]:
    """Return a number of four digits for each prefixed name of a Turtle text, by name.

    Only names with one of the ``prefixes`` get one. The number is a hash of ``salt`` and the name;
    if two names collide, the later one in alphabetical order gets the next free number.
    """
    names = {
        match[0]
        for match in _TOKEN.finditer(turtle)
        if not match["kept"] and match["prefix"] in prefixes
    }
    used_numbers: set[int] = set()
    numbers = {}
    for name in sorted(names):
        number = int.from_bytes(hashlib.sha256(f"{salt}{name}".encode()).digest()[:8]) % 9000
        while number in used_numbers:
            number = (number + 1) % 9000
        used_numbers.add(number)
        numbers[name] = f"{name.partition(':')[0]}:{number + 1000}"
    return numbers


def table(numbers: Mapping[str, str]) -> str:
    """Return the numbers with the names that they replace, as CSV with the columns id and label."""
    rows = [f"{number},{name.partition(':')[2]}" for name, number in numbers.items()]
    return "\n".join(["id,label", *sorted(rows, key=lambda row: row.partition(",")[2].lower())])


FOLDER: Final = "twins"
VERSION: Final = 1
"""Part of every seed: another version draws other names."""
TENTHS: Final = (6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17)
"""Factors of amounts, in tenths."""

_KEPT: Final = frozenset(("uid", "taskUid", "lsqFeatures", "graphFormat"))
_QUERIES: Final = frozenset(("refSparql", "testSparql"))
_VARIABLE: Final = re.compile(r"\?(\w+)")
_PLACE: Final = re.compile(r"\(at char (\d+)\), \(line:1, col:\d+\)")
_DRAWS: Final = 200  # attempts; a few usually suffice
_AMOUNT: Final = re.compile(r"\d{5,}")
_USUAL: Final = {"rdf": str(RDF), "rdfs": str(RDFS), "owl": str(OWL), "xsd": str(XSD)}


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """Published cases about one graph: their data, and the graph in Turtle.

    ``name`` is the key of its kinds of names in ``names.json``; numbers replace local names with
    the ``prefixes``. The data of a case may contain the graph as ``graphTurtle``.
    """

    name: str
    graph: str
    cases: Sequence[Mapping[str, Json]]
    prefixes: tuple[str, ...] = ()


def natural(source: Source, *seed: object) -> list[dict[str, Json]]:
    """Return the data of all cases of a source, with names replaced by other words.

    The names of a kind keep their alphabetical order. A draw is accepted only if the reference
    queries find the renamed values in the renamed graph. Raises
    :class:`~kgbench.errors.TaskError` if no draw is accepted.
    """
    declared = texts.shared_structure(FOLDER, "names.json")[source.name]
    chance = Chance(VERSION, source.name, "natural", *seed)
    for _ in range(_DRAWS):
        words = draw_words(declared["kinds"], source.graph.lower(), chance)
        tenths = chance.one(TENTHS)
        replace = _replacer(words)
        graph = _scaled_graph(replace(source.graph), declared["scaled"], tenths)
        renamed_cases = []
        for case in source.cases:
            renamed = _with_variables(case, replace, chance) if "testSparql" in case else replace
            data = {key: _renamed(key, value, renamed, case) for key, value in case.items()}
            if "graphTurtle" in data:
                data["graphTurtle"] = graph
            if declared["scaled"]:
                data["refResultSet"] = sorted(_scaled(v, tenths) for v in data["refResultSet"])
            renamed_cases.append(data)
        if _queries_agree(graph, renamed_cases):
            return renamed_cases
    raise TaskError(f"no renaming of the cases '{source.name}' keeps what their queries find")


def opaque(source: Source, *seed: object) -> list[dict[str, Json]]:
    """Return the data of all cases of a source, with names replaced by numbers.

    Cases with a question also contain the table of the numbers.
    """
    salt = "/".join(map(str, (VERSION, source.name, "opaque", *seed)))
    numbers = number_names(source.graph, source.prefixes, salt)
    graph = translate_names(source.graph, numbers)

    def translate(text: str) -> str:
        return translate_names(text, numbers)

    chance, renamed_cases = Chance(salt), []
    for case in source.cases:
        is_faulty = "testSparql" in case
        rename = _with_variables(case, translate, chance) if is_faulty else translate
        data = dict(case)
        for key in _QUERIES & case.keys():
            data[key] = rename(case[key])
        if "refResultSet" in case:
            data["refResultSet"] = sorted(numbers.get(v, v) for v in case["refResultSet"])
        if "errorMessage" in case:
            data["errorMessage"] = _moved_message(case, rename)
        if "path" in case:
            data["path"] = [numbers[f":{name}"].removeprefix(":") for name in case["path"]]
        if "graphTurtle" in case:
            data["graphTurtle"] = graph
        if "question" in case:
            data["entityHelpCsv"] = table(numbers)
        renamed_cases.append(data)
    return renamed_cases


RENAMINGS: Final[Mapping[str, Callable[..., list[dict[str, Json]]]]] = {
    "natural": natural,
    "opaque": opaque,
}


def _renamed(
    key: str, value: Json, replace: Callable[[str], str], case: Mapping[str, Json]
) -> Json:
    """Replace the names in a value of the data of a case."""
    if key == "errorMessage":
        return _moved_message(case, replace)
    if key in _KEPT or not isinstance(value, str | list):
        return value
    if isinstance(value, str):
        return replace(value)
    words = [replace(item) for item in value]
    return sorted(words) if key == "refResultSet" else words


def _with_variables(
    case: Mapping[str, Json], replace: Callable[[str], str], chance: Chance
) -> Callable[[str], str]:
    """Return a function that replaces names, and variables of the reference query.

    A fault may have removed the mark of a variable, so names without it are replaced, too.
    """
    names = sorted(set(_VARIABLE.findall(case["refSparql"])))
    words: dict[str, None] = {}
    while len(words) < len(names):
        words[naming.word(chance).lower()] = None
    new_names = dict(zip(names, words, strict=True))
    pattern = re.compile(rf"(?<![\w:\"])({'|'.join(names)})(?![\w:])")
    return lambda text: pattern.sub(lambda match: new_names[match[0]], replace(text))


def _moved_message(case: Mapping[str, Json], replace: Callable[[str], str]) -> str:
    """Return the parser's message about a one-line query, with the renamed fault's position."""

    def new_position(match: re.Match[str]) -> str:
        position = len(replace(case["testSparql"][: int(match[1])]))
        return f"(at char {position}), (line:1, col:{position + 1})"

    return _PLACE.sub(new_position, case["errorMessage"])


def draw_words(kinds: Sequence[Mapping[str, Any]], taken: str, chance: Chance) -> dict[str, str]:
    """Draw a new word for each name; no word occurs in the text ``taken`` (in lower case)."""
    new_words: dict[str, str] = {}
    for kind in kinds:
        names = sorted(kind["names"])
        pool = chance.shuffled(kind["drawn"])
        words: list[str] = []
        while len(words) < len(names):
            word = pool.pop() if kind["drawn"] else naming.word(chance).lower()
            fits = word.endswith(kind.get("ending", "")) and word.lower() not in taken
            if fits and word not in words and word not in new_words.values():
                words.append(word)
        new_words |= zip(names, sorted(words), strict=True)
    return new_words


def _replacer(words: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces names as words or parts of identifiers (``PortSelby``).

    A lower-case name is also replaced with a capital, then also in its adjective in ``n``. Any
    other name is replaced only as it is, or with underscores for spaces, as in IRIs.
    """
    patterns, replacements = [], {}
    for name, word in words.items():
        if name.islower():
            patterns.append(rf"(?<![A-Za-z]){name}(?![a-z])")
            patterns.append(rf"(?<![A-Z]){name.capitalize()}(?=n?(?![a-z]))")
            replacements[name.capitalize()] = word.capitalize()
        else:
            forms = {name: word, name.replace(" ", "_"): word.replace(" ", "_")}
            escaped = map(re.escape, forms)
            patterns += [rf"(?<![A-Za-z0-9]){form}(?![A-Za-z0-9])" for form in escaped]
            replacements |= forms
        replacements[name] = word
    pattern = re.compile("|".join(patterns))
    return lambda text: pattern.sub(lambda match: replacements[match[0]], text)


def _scaled_graph(graph: str, properties: Sequence[str], tenths: int) -> str:
    """Multiply the integers of some properties in a Turtle graph by ``tenths`` / 10."""
    if not properties:
        return graph
    amounts = re.compile(rf"({'|'.join(map(re.escape, properties))}) (\d+)")
    return amounts.sub(lambda match: f"{match[1]} {int(match[2]) * tenths // 10}", graph)


def _scaled(value: str, tenths: int) -> str:
    """Multiply an amount of a result set by ``tenths`` / 10; keep any other value."""
    return str(int(value) * tenths // 10) if _AMOUNT.fullmatch(value) else value


def _queries_agree(graph: str, cases: Sequence[Mapping[str, Json]]) -> bool:
    """Return whether each reference query finds the values that its case expects."""
    if not any("refSparql" in case for case in cases):
        return True
    store = ox.Store()
    store.load(graph.encode("utf-8"), ox.RdfFormat.TURTLE)
    prefixes = _USUAL | serialising.declared_prefixes(graph)
    for case in cases:
        solutions: Any = store.query(case["refSparql"], prefixes=prefixes)
        terms = {str(term) for row in solutions for term in row if term is not None}
        if {result_sets.term_value(term, prefixes) for term in terms} != set(case["refResultSet"]):
            return False
    return True
