# SPDX-License-Identifier: Apache-2.0
"""Kinds of hostile answers, with their expected outcomes."""

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kgbench.model import Outcome

MEGABYTE = 1 << 20
ANY_LIMIT = ("time", "memory", "stack")


class Hostile(NamedTuple):
    """A kind of attack: its answers and their expected outcomes.

    ``limits`` are the limits that a timeout may report; ``infos`` must be among the infos of an
    answer that has them.
    """

    answers: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    limits: tuple[str, ...] = ANY_LIMIT
    infos: Mapping[str, object] = MappingProxyType({})
    task: str = "Probe"


def scored(answers, **infos):
    """Return answers that are judged completely."""
    return Hostile(tuple(answers), (Outcome.SCORED,), infos=infos)


def ended(limits, answers, **infos):
    """Return answers that hit one of ``limits``."""
    return Hostile(tuple(answers), (Outcome.TIMEOUT,), tuple(limits.split()), infos)


def either(answers, **infos):
    """Return answers that are judged or hit a limit, depending on the machine."""
    return Hostile(tuple(answers), (Outcome.SCORED, Outcome.TIMEOUT), infos=infos)


def query(*queries):
    """Return instructions to check and run queries."""
    return [f"query {text}" for text in queries]


def parse(rdf_format, *documents):
    """Return instructions to parse documents."""
    return [f"parse {rdf_format} {text}" for text in documents]


def patterns(number):
    """Return triple patterns that share no variable."""
    return " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(number))


def noise(seed, size):
    """Return random bytes, decoded as UTF-8 with surrogate escapes."""
    return random.Random(seed).randbytes(size).decode("utf-8", "surrogateescape")
