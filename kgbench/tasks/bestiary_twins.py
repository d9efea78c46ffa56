# SPDX-License-Identifier: Apache-2.0
"""Twins of the cases about the invented bestiary, with other names, and the renamed graphs.

The graph (:mod:`kgbench.tasks.bestiary`) is too large for cases to carry. The name of a renamed
graph contains the seed of its names, so that the graph can be generated when it is first needed.
Names are replaced one for one in alphabetical order within their kind, so queries find the same
values, renamed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kgbench.model import Json
from kgbench.tasks import bestiary, renaming, texts
from kgbench.worlds.naming import Chance

NAME: Final = "bestiary"
"""The name of the published graph, and of its kinds of names in ``names.json``."""
SHOWN: Final = {"kgInfoType": "subgraph", "kgInfoFormat": "turtle"}
"""The form of prompts. Without a part of the graph, they would have hardly any changed names."""

_NATURAL: Final = "natural"
_PREFIXES: Final = ("", "best")
_WORD: Final = re.compile(r"(\?\w+)|[A-Za-z]+")
_IRI: Final = re.compile(rf"<{re.escape(bestiary.NAMESPACE)}(schema#)?([A-Za-z]+)>")
_LABEL: Final = re.compile(r'"([A-Za-z ]+)"')
_LIFESPAN: Final = re.compile(r'(lifespan>? "?)(\d+)')


class Renamed(NamedTuple):
    """The identity of a renamed bestiary: the kind of its names and their seed."""

    names: str
    seed: str

    @property
    def name(self) -> str:
        """The name of the graph, for :func:`kgbench.tasks.graphs.text`."""
        return f"{NAME}-{renaming.VERSION}-{self.names}-{self.seed}"


def named(name: str) -> Renamed | None:
    """Return the renamed bestiary with a graph name; ``None`` for other graph names."""
    parts = name.split("-", 3)
    if len(parts) != len(Renamed._fields) + 2 or parts[:2] != [NAME, str(renaming.VERSION)]:
        return None
    return Renamed(*parts[2:]) if parts[2] in renaming.RENAMINGS else None


@lru_cache(maxsize=2)
def text(renamed: Renamed) -> str:
    """Return a renamed bestiary as N-Triples."""
    if renamed.names == _NATURAL:
        words, tenths = _words(renamed)
        relabelled = _LABEL.sub(lambda match: f'"{_replaced(match[1], words)}"', bestiary.text())
        graph = _IRI.sub(lambda match: _iri(match, words.get(match[2], match[2])), relabelled)
        return _scaled(graph, tenths)
    numbers = _numbers(renamed)

    def numbered(match: re.Match[str]) -> str:
        return _iri(match, numbers[_prefixed(match)].partition(":")[2])

    return _IRI.sub(numbered, bestiary.text())


def twins(
    cases: Sequence[Mapping[str, Json]], names: str, seed: int, lap: int
) -> list[dict[str, Json]]:
    """Return the data of twins of cases about the bestiary; each ``lap`` has other names."""
    renamed = Renamed(names, f"{seed}-{lap}")
    twin_of = _natural if names == _NATURAL else _opaque
    return [{**case, **twin_of(case, renamed), "graphName": renamed.name} for case in cases]


def prepare() -> None:
    """Read the lists of names for judging processes, which cannot open files."""
    _declared()


def _natural(case: Mapping[str, Json], renamed: Renamed) -> dict[str, Json]:
    words, tenths = _words(renamed)
    query: str = case["refSparql"]
    values = [_replaced(value, words) for value in case["refResultSet"]]
    if "best:lifespan" in query:
        values = [str(_multiplied(v, tenths)) if v.isdecimal() else v for v in values]
    return {
        "question": _replaced(case["question"], words),
        "refSparql": _replaced(query, words),
        "refResultSet": sorted(values),
        "subGraph": _scaled(_replaced(case["subGraph"], words), tenths),
    }


def _opaque(case: Mapping[str, Json], renamed: Renamed) -> dict[str, Json]:
    """Case data with numbers for names, and a table of the numbers in the prompt and the query."""
    numbers = _numbers(renamed)
    query, subgraph = case["refSparql"], case["subGraph"]
    needed = renaming.number_names(f"{subgraph}\n{query}", _PREFIXES)
    return {
        "refSparql": renaming.translate_names(query, numbers),
        "refResultSet": sorted(numbers.get(value, value) for value in case["refResultSet"]),
        "subGraph": renaming.translate_names(subgraph, numbers),
        "entityHelpCsv": renaming.table({name: numbers[name] for name in needed}),
    }


@lru_cache(maxsize=2)
def _words(renamed: Renamed) -> tuple[dict[str, str], int]:
    """Return new words for words and local names, and the factor of lifespans in tenths."""
    declared = _declared()
    chance = Chance(renaming.VERSION, NAME, renamed.names, renamed.seed)
    words: dict[str, str] = {}
    for name, word in renaming.draw_words(declared["kinds"], "", chance).items():
        words |= zip(name.split("/"), word.split("/"), strict=True)
    for value in bestiary.values():
        if " " in value:
            replaced = _replaced(value, words)
            words[bestiary.local_name(value)] = bestiary.local_name(replaced)
    names = sorted(bestiary.creatures())
    words |= zip(names, _creatures(len(names), declared["creatures"], chance), strict=True)
    return words, chance.one(renaming.TENTHS)


def _creatures(number: int, parts: Sequence[Sequence[str]], chance: Chance) -> list[str]:
    """Compose new names of creatures like those of the bestiary, in alphabetical order."""
    middles = parts[1]
    names: set[str] = set()
    while len(names) < number:
        start, middle, end = (chance.one(choices) for choices in parts)
        name = f"{start}{middle}{end}"
        names.add(f"{start}{middle}{chance.one(middles)}{end}" if name in names else name)
    return sorted(names)


@lru_cache(maxsize=2)
def _numbers(renamed: Renamed) -> dict[str, str]:
    """Return numbers by prefixed name, for all names of the graph."""
    salt = "/".join((str(renaming.VERSION), NAME, renamed.names, renamed.seed))
    return renaming.number_names(_all_names(), _PREFIXES, salt)


@cache
def _all_names() -> str:
    """Return the prefixed names of the graph, one per line."""
    names = {_prefixed(match) for match in _IRI.finditer(bestiary.text())}
    return "\n".join(sorted(names))


def _prefixed(match: re.Match[str]) -> str:
    return f"{'best' if match[1] else ''}:{match[2]}"


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """Replace words of a text; variables of queries keep their names."""
    return _WORD.sub(lambda m: m[0] if m[1] else words.get(m[0], m[0]), text)


def _iri(match: re.Match[str], name: str) -> str:
    """Return the matched IRI with another local name."""
    return f"<{bestiary.NAMESPACE}{match[1] or ''}{name}>"


def _scaled(graph: str, tenths: int) -> str:
    """Multiply the lifespans in a graph in Turtle or N-Triples by ``tenths`` / 10."""
    return _LIFESPAN.sub(lambda match: f"{match[1]}{_multiplied(match[2], tenths)}", graph)


def _multiplied(years: str, tenths: int) -> int:
    """Return a lifespan multiplied by ``tenths`` / 10, at least one year."""
    return max(1, int(years) * tenths // 10)


def _declared() -> Mapping[str, Json]:
    declared: Mapping[str, Json] = texts.shared_structure(renaming.FOLDER, "names.json")[NAME]
    return declared
