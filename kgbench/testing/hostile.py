# SPDX-License-Identifier: Apache-2.0
"""Hostile answers for tests of judges: empty, huge, deeply nested, malformed or mutated.

:func:`answers` makes any number of them, the same ones for the same seed. No judge may fail on
any of them; most deserve no score.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final

#: Texts that do not answer anything, by kind; none of them deserves the best score.
NO_ANSWERS: Final = MappingProxyType(
    {
        "empty": "",
        "blanks": " \n\t\n",
        "prose": "I am sorry, but I cannot help with that.",
        "a megabyte": "no " * 350_000,
        "a megabyte of lines": "```\n:a :b :c .\n" * 70_000,
        "a megabyte without a break": "x" * 1_000_000,
        "lone surrogates": '```turtle\n<a> <b> "\ud800" .\n```\nperson-\udfff',
        "NUL": "\x00```\n\x00\n```\x00",
        "an open fence": "```turtle\n<http://e.org/a> <http://e.org/b> 1 .",
        "an empty block": "```\n```",
        "unusual line ends": "a\r\nb\rc\x0bd\x0ce\u2028f\u2029g\x85h",
        "a template": "$graph ${format} {0} %s",
        "other scripts": "```\n答え — ответ \U0001f600\n```",
    }
)

#: Fragments of model output, formats and attacks that mutations insert.
FRAGMENTS: Final = (
    "```",
    "~~~~",
    "````turtle\n",
    "\n```\n",
    "``` ```",
    "<think>",
    "</think>",
    "\x00",
    "\x1b[2J",
    "\ud800",
    "\U0010ffff",
    "\u202e",
    "\r\n",
    "\\u002B",
    "\\",
    '"""',
    "'''",
    "a.",
    "1.1.",
    "{" * 9,
    "[" * 9,
    "(" * 9,
    "SERVICE<http://h/>",
    "LOAD",
    "FROM <urn:g>",
    "\\u0053ERVICE",
    "#",
    "=cmd|",
    "@prefix : <urn:a#> .\n",
    "&#x41;",
    "<!ENTITY a 'b'>",
    '"@context"',
    "sk-",
    "://a:b@c/",
    "1e999",
    "2024-99-99T00:00:00",
    "NaN",
    "-0",
    "null",
    "[]",
    "{}",
    "- &a [*a]",
    "!!python/object:os",
    "%",
)

_NOWHERE = "http://127.0.0.1:9/"  # never contacted: judges cannot open sockets
_TYPED = "`{}<>[]()\"'\\#@^;.,\x00\ud800"


def answers(
    references: Sequence[str], count: int, *, seed: int = 0, url: str = _NOWHERE
) -> Iterator[tuple[str, str]]:
    """Yield ``count`` pairs of a kind and a hostile answer.

    First come all of :data:`NO_ANSWERS`, then the attacks as they are, then mutations of attacks
    and of the ``references`` in turn. ``url`` is the address that queries and documents try to
    fetch.
    """
    return islice(_endless(references, random.Random(seed), url), count)  # noqa: S311 - no secret


def _endless(references: Sequence[str], rng: random.Random, url: str) -> Iterator[tuple[str, str]]:
    yield from NO_ANSWERS.items()
    for number, attack in enumerate(attacks(url)):
        yield f"attack {number}", attack
    while True:
        for reference in references or ("",):
            yield "mutation", mutate(reference, url, rng)


def attacks(url: str) -> tuple[str, ...]:
    """Return queries and documents that run very long, nest very deeply, or fetch ``url``."""
    return (
        f"```sparql\nSELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }}\n```",
        f"```sparql\nLOAD <{url}>\n```",
        "```sparql\nSELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a != 1) }\n```",
        f"```sparql\nSELECT * {{ FILTER({'!' * 20_000}true) }}\n```",
        f"```sparql\nSELECT * {{ {'{' * 5_000} {'}' * 5_000} }}\n```",
        f'```json\n{{"@context": "{url}", "@id": "urn:a", "b": "c"}}\n```',
        f'```xml\n<!DOCTYPE a [<!ENTITY b SYSTEM "{url}">]><a>&b;</a>\n```',
        f"```turtle\n{'[' * 20_000}\n```",
        "```turtle\n<urn:a> <urn:b> " + "(" * 20_000,
        "```\n" * 20_000,
        "a." * 50_000,
        "\n" * 200_000,
        "(" * 20_000 + "a" * 20_000 + "!",
        "- " * 50_000,
        "9" * 100_000,
    )


def mutate(reference: str, url: str, rng: random.Random) -> str:
    """Return the reference answer or an attack with up to four random changes."""
    originals = (
        reference,
        reference,
        *attacks(url)[:3],
        *attacks(url)[5:7],
        "```turtle\n" + "[" * rng.randrange(1, 5000) + "\n```",
        "(" * rng.randrange(1, 20_000) + reference,
        rng.choice(FRAGMENTS) * rng.randrange(1, 20_000),
        "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(500))),
    )
    text = rng.choice(originals)
    for _ in range(rng.randrange(5)):
        start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:start] + text[min(end, start + 40) :]
        elif kind == 1:
            text = text[:start] + rng.choice(FRAGMENTS) + text[start:]
        elif kind == 2:  # noqa: PLR2004 - the third of four kinds
            text = text[:start] + text[start : start + 60] * rng.randrange(1, 30) + text[start:]
        else:
            text = text[:start] + rng.choice(_TYPED) + text[start + 1 :]
    return text
