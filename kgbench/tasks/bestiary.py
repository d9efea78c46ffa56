# SPDX-License-Identifier: Apache-2.0
"""An invented bestiary: a large graph of creatures, generated from a fixed seed, and its twins.

It has the structure of the Beastiary graph (one large class with many properties, human-readable
names) but none of its content. The same seed gives the same graph everywhere, because all random
choices use :meth:`random.Random.random`, whose sequence Python guarantees.

Twins are cases about the graph with other names. The graph is too large for cases to carry: the
name of a renamed graph contains the seed of its names, so that it can be generated when it is first
needed. Names are replaced one for one in alphabetical order within their kind, so queries find the
same values, renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Final, NamedTuple

from kgbench.model import Json
from kgbench.tasks import renaming, texts
from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.naming import Chance

NAMESPACE: Final = "https://w3id.org/kgbench/bestiary/"
SCHEMA: Final = f"{NAMESPACE}schema#"
PREFIXES: Final = {"": NAMESPACE, "best": SCHEMA}
SEED: Final = 20250101
CREATURES: Final = 5_000

_KINDS = ("Beast", "Dragon", "Spirit", "Construct", "Plantling", "Giant", "Swarm")
_STARTS = (
    "Ar",
    "Bel",
    "Cor",
    "Dra",
    "El",
    "Fen",
    "Gor",
    "Hul",
    "Ir",
    "Jor",
    "Kel",
    "Lum",
    "Mor",
    "Nar",
    "Oth",
    "Pyr",
    "Quel",
    "Rav",
    "Syl",
    "Tor",
    "Ul",
    "Vel",
    "Wen",
    "Yr",
    "Zan",
)
_MIDDLES = ("a", "e", "i", "o", "u", "ae", "ia", "or", "an", "el", "ir", "um", "os", "yl")
_ENDS = (
    "bat",
    "claw",
    "drin",
    "fang",
    "gast",
    "horn",
    "kin",
    "lurk",
    "maw",
    "nid",
    "phage",
    "rax",
    "shade",
    "tail",
    "thorn",
    "vern",
    "wight",
    "wing",
    "wyrm",
    "zel",
)

_VALUES: Final = {
    "Habitat": (
        "marsh",
        "forest",
        "desert",
        "cavern",
        "glacier",
        "reef",
        "steppe",
        "ruin",
        "sky",
        "volcano",
        "tundra",
        "river",
    ),
    "Temper": ("calm", "wild", "cunning", "loyal", "spiteful", "shy", "proud"),
    "Diet": ("meat", "leaves", "carrion", "stone", "light", "dreams", "fish"),
    "Language": (
        "Oldspeech",
        "Rootsong",
        "Deepcant",
        "Emberic",
        "Tidal",
        "Whistling",
        "Runic",
        "Glimmer",
    ),
    "Ability": (
        "flight",
        "burrowing",
        "venom",
        "regeneration",
        "mimicry",
        "invisibility",
        "frost",
        "fire",
        "charm",
        "stealth",
        "petrification",
        "telepathy",
        "swimming",
        "howling",
    ),
    "Explorer": (
        "Ada Quill",
        "Bram Oster",
        "Cleo Marsh",
        "Dorian Vale",
        "Edda Stone",
        "Finn Aldous",
    ),
}


class _Field(NamedTuple):
    """A property of creatures, the class of its values, and how many values a creature has."""

    name: str
    of: str
    min_values: int
    max_values: int


_FIELDS: Final = (
    _Field("hasTemper", "Temper", 1, 1),
    _Field("eats", "Diet", 1, 2),
    _Field("livesIn", "Habitat", 1, 2),
    _Field("speaks", "Language", 0, 3),
    _Field("hasAbility", "Ability", 0, 4),
    _Field("firstSeenBy", "Explorer", 0, 1),
)


@cache
def text() -> str:
    """Return the whole graph as N-Triples; generated once per process."""
    return "".join(f"{line}\n" for line in lines())


@cache
def creatures() -> tuple[str, ...]:
    """Return the names of the creatures of the whole graph."""
    return tuple(_names(CREATURES, Random(SEED)))  # noqa: S311 - reproducible, not secret


def values() -> list[str]:
    """Return the labels of all resources except creatures: habitats, tempers, diets and so on."""
    return [name for of_class in _VALUES.values() for name in of_class]


def local_name(name: str) -> str:
    """Return the local name of the IRI of the resource called ``name``."""
    return name.replace(" ", "")


def lines(creatures: int = CREATURES, seed: int = SEED) -> Iterator[str]:
    """Yield the graph as N-Triples lines, without line breaks."""
    for of_class, values in _VALUES.items():
        for name in values:
            yield _triple(_resource(name), RDF.type, f"<{SCHEMA}{of_class}>")
            yield _triple(_resource(name), RDFS.label, f'"{name}"')
    rng = Random(seed)  # noqa: S311 - reproducible, not secret
    names = _names(creatures, rng)
    for name in names:
        yield from _creature(name, names, rng)


def _creature(name: str, names: Sequence[str], rng: Random) -> Iterator[str]:
    subject = _resource(name)
    yield _triple(subject, RDF.type, f"<{SCHEMA}{_draw(_KINDS, rng)}>")
    yield _triple(subject, RDFS.label, f'"{name}"')
    yield _triple(subject, SCHEMA + "weight", _number(1 + int(rng.random() ** 3 * 9000)))
    if rng.random() < 0.8:  # noqa: PLR2004 - the age of the others is unknown
        yield _triple(subject, SCHEMA + "lifespan", _number(1 + int(rng.random() * 900)))
    for field in _FIELDS:
        values = _VALUES[field.of]
        count = field.min_values + int(rng.random() * (field.max_values - field.min_values + 1))
        for value in _draw_several(values, count, rng):
            yield _triple(subject, SCHEMA + field.name, _resource(value))
    for prey in _draw_several(names, int(rng.random() * 3), rng):
        if prey != name:
            yield _triple(subject, SCHEMA + "preysOn", _resource(prey))


def _names(count: int, rng: Random) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(_draw(parts, rng) for parts in (_STARTS, _MIDDLES, _ENDS))
        if name in names:
            name = "".join(_draw(parts, rng) for parts in (_STARTS, _MIDDLES, _MIDDLES, _ENDS))
        names.setdefault(name)
    return list(names)


def _draw(choices: Sequence[str], rng: Random) -> str:
    return choices[int(rng.random() * len(choices))]


def _draw_several(choices: Sequence[str], count: int, rng: Random) -> list[str]:
    return list(dict.fromkeys(_draw(choices, rng) for _ in range(count)))


def _resource(name: str) -> str:
    return f"<{NAMESPACE}{local_name(name)}>"


def _number(value: int) -> str:
    return f'"{value}"^^<{XSD.integer}>'


def _triple(subject: str, predicate: str, value: str) -> str:
    return f"{subject} <{predicate}> {value} ."


NAME: Final = "bestiary"
"""The name of the published graph, and of its kinds of names in ``names.json``."""
SHOWN: Final = {"kgInfoType": "subgraph", "kgInfoFormat": "turtle"}
"""The form of prompts. Without a part of the graph, they would have hardly any changed names."""

_NATURAL: Final = "natural"
_PREFIXES: Final = ("", "best")
_WORD: Final = re.compile(r"(\?\w+)|[A-Za-z]+")
_IRI: Final = re.compile(rf"<{re.escape(NAMESPACE)}(schema#)?([A-Za-z]+)>")
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
def renamed_text(renamed: Renamed) -> str:
    """Return a renamed bestiary as N-Triples."""
    if renamed.names == _NATURAL:
        words, tenths = _words(renamed)
        relabelled = _LABEL.sub(lambda match: f'"{_replaced(match[1], words)}"', text())
        graph = _IRI.sub(lambda match: _iri(match, words.get(match[2], match[2])), relabelled)
        return _scaled(graph, tenths)
    numbers = _numbers(renamed)

    def numbered(match: re.Match[str]) -> str:
        return _iri(match, numbers[_prefixed(match)].partition(":")[2])

    return _IRI.sub(numbered, text())


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
    for value in values():
        if " " in value:
            replaced = _replaced(value, words)
            words[local_name(value)] = local_name(replaced)
    names = sorted(creatures())
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
    names = {_prefixed(match) for match in _IRI.finditer(text())}
    return "\n".join(sorted(names))


def _prefixed(match: re.Match[str]) -> str:
    return f"{'best' if match[1] else ''}:{match[2]}"


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """Replace words of a text; variables of queries keep their names."""
    return _WORD.sub(lambda m: m[0] if m[1] else words.get(m[0], m[0]), text)


def _iri(match: re.Match[str], name: str) -> str:
    """Return the matched IRI with another local name."""
    return f"<{NAMESPACE}{match[1] or ''}{name}>"


def _scaled(graph: str, tenths: int) -> str:
    """Multiply the lifespans in a graph in Turtle or N-Triples by ``tenths`` / 10."""
    return _LIFESPAN.sub(lambda match: f"{match[1]}{_multiplied(match[2], tenths)}", graph)


def _multiplied(years: str, tenths: int) -> int:
    """Return a lifespan multiplied by ``tenths`` / 10, at least one year."""
    return max(1, int(years) * tenths // 10)


def _declared() -> Mapping[str, Json]:
    declared: Mapping[str, Json] = texts.shared_structure(renaming.FOLDER, "names.json")[NAME]
    return declared
