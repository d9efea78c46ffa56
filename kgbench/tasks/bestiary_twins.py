# SPDX-License-Identifier: Apache-2.0
"""The cases about the invented bestiary under other names, and the renamed graphs.

The graph (:mod:`kgbench.tasks.bestiary`) is too large for cases to carry. A renamed one is called
after what its names are drawn from, and is made when it is first needed. Names are exchanged one
for one in alphabetical order within their kind, so queries find what they found, renamed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kgbench.model import Json
from kgbench.tasks import bestiary, numbering, own_cases, renaming, texts
from kgbench.worlds.naming import Chance

NAME: Final = "bestiary"
"""The name of the published graph, and of its kinds of names in ``names.json``."""
SHOWN: Final = {"kgInfoType": "subgraph", "kgInfoFormat": "turtle"}
"""What prompts show. Without a part of the graph, hardly a name would be another one."""

_NATURAL: Final = "natural"
_PREFIXES: Final = ("", "best")
_WORD: Final = re.compile(r"(\?\w+)|[A-Za-z]+")
_IRI: Final = re.compile(rf"<{re.escape(bestiary.NAMESPACE)}(schema#)?([A-Za-z]+)>")
_LABEL: Final = re.compile(r'"([A-Za-z ]+)"')
_LIFESPAN: Final = re.compile(r'(lifespan>? "?)(\d+)')


class Renamed(NamedTuple):
    """What identifies a renamed bestiary: the kind of its names, and what they are drawn from."""

    names: str
    seed: str

    @property
    def name(self) -> str:
        """The name of its graph, for :func:`kgbench.tasks.graphs.text`."""
        return f"{NAME}-{renaming.VERSION}-{self.names}-{self.seed}"


def named(name: str) -> Renamed | None:
    """The renamed bestiary that a graph is called after; ``None`` where it is none of these."""
    parts = name.split("-", 3)
    if len(parts) != len(Renamed._fields) + 2 or parts[:2] != [NAME, str(renaming.VERSION)]:
        return None
    return Renamed(*parts[2:]) if parts[2] in renaming.RENAMINGS else None


@lru_cache(maxsize=2)
def text(renamed: Renamed) -> str:
    """A renamed bestiary as N-Triples."""
    if renamed.names == _NATURAL:
        words, tenths = _words(renamed)
        exchanged = _LABEL.sub(lambda match: f'"{_replaced(match[1], words)}"', bestiary.text())
        graph = _IRI.sub(lambda match: _iri(match, words.get(match[2], match[2])), exchanged)
        return _scaled(graph, tenths)
    numbers = _numbers(renamed)

    def numbered(match: re.Match[str]) -> str:
        return _iri(match, numbers[_prefixed(match)].partition(":")[2])

    return _IRI.sub(numbered, bestiary.text())


def twins(names: str, seed: int, lap: int) -> list[dict[str, Json]]:
    """The data of twins of all cases about the bestiary; each ``lap`` has other names."""
    renamed = Renamed(names, f"{seed}-{lap}")
    twin_of = _natural if names == _NATURAL else _opaque
    return [
        {**case, **twin_of(case, renamed), "graphName": renamed.name}
        for case in own_cases.bestiary_cases(SHOWN)
    ]


def prepare() -> None:
    """Read the lists of names, for a process that cannot do so later."""
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
    """Numbers for names, with a table of those that the prompt shows and the query needs."""
    numbers = _numbers(renamed)
    query, shown = case["refSparql"], case["subGraph"]
    needed = numbering.numbered(f"{shown}\n{query}", _PREFIXES)
    return {
        "refSparql": numbering.translated(query, numbers),
        "refResultSet": sorted(numbers.get(value, value) for value in case["refResultSet"]),
        "subGraph": numbering.translated(shown, numbers),
        "entityHelpCsv": numbering.table({name: numbers[name] for name in needed}),
    }


@lru_cache(maxsize=2)
def _words(renamed: Renamed) -> tuple[dict[str, str], int]:
    """New words for words and local names, and the tenths that lifespans are multiplied by."""
    declared = _declared()
    chance = Chance(renaming.VERSION, NAME, renamed.names, renamed.seed)
    found: dict[str, str] = {}
    for name, word in renaming.drawn(declared["kinds"], "", chance).items():
        found |= zip(name.split("/"), word.split("/"), strict=True)
    for value in bestiary.values():
        if " " in value:
            replaced = _replaced(value, found)
            found[bestiary.local_name(value)] = bestiary.local_name(replaced)
    names = sorted(bestiary.creatures())
    found |= zip(names, _creatures(len(names), declared["creatures"], chance), strict=True)
    return found, chance.one(renaming.TENTHS)


def _creatures(number: int, parts: Sequence[Sequence[str]], chance: Chance) -> list[str]:
    """New names of creatures in alphabetical order, made as those of the bestiary are."""
    middles = parts[1]
    found: set[str] = set()
    while len(found) < number:
        start, middle, end = (chance.one(each) for each in parts)
        name = f"{start}{middle}{end}"
        found.add(f"{start}{middle}{chance.one(middles)}{end}" if name in found else name)
    return sorted(found)


@lru_cache(maxsize=2)
def _numbers(renamed: Renamed) -> dict[str, str]:
    """Numbers by prefixed name, for all names of the graph."""
    salt = "/".join((str(renaming.VERSION), NAME, renamed.names, renamed.seed))
    return numbering.numbered(_all_names(), _PREFIXES, salt)


@cache
def _all_names() -> str:
    """The prefixed names of the graph, one a line."""
    named = {_prefixed(match) for match in _IRI.finditer(bestiary.text())}
    return "\n".join(sorted(named))


def _prefixed(match: re.Match[str]) -> str:
    return f"{'best' if match[1] else ''}:{match[2]}"


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """A text with other words; variables of queries keep their names."""
    return _WORD.sub(lambda m: m[0] if m[1] else words.get(m[0], m[0]), text)


def _iri(match: re.Match[str], name: str) -> str:
    """The IRI of a match with another local name."""
    return f"<{bestiary.NAMESPACE}{match[1] or ''}{name}>"


def _scaled(graph: str, tenths: int) -> str:
    """A graph in Turtle or N-Triples with other lifespans."""
    return _LIFESPAN.sub(lambda match: f"{match[1]}{_multiplied(match[2], tenths)}", graph)


def _multiplied(years: str, tenths: int) -> int:
    """A lifespan multiplied by ``tenths`` / 10; no creature lives for less than a year."""
    return max(1, int(years) * tenths // 10)


def _declared() -> Mapping[str, Json]:
    declared: Mapping[str, Json] = texts.shared_structure(renaming.FOLDER, "names.json")[NAME]
    return declared
