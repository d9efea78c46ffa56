# SPDX-License-Identifier: Apache-2.0
"""An invented bestiary: a large graph of creatures, generated from a fixed seed.

It has the structure of the Beastiary graph (one large class with many properties, human-readable
names) but none of its content. The same seed gives the same graph everywhere, because all random
choices use :meth:`random.Random.random`, whose sequence Python guarantees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple

from kgbench.vocab import RDF, RDFS, XSD

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
