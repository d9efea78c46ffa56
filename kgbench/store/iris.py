# SPDX-License-Identifier: Apache-2.0
"""IRIs of resources, minted by the patterns of ``store/layout.ttl``.

>>> iris = Iris()
>>> iris.mint("run", run="0199")
'https://w3id.org/kgbench/run/0199'
>>> slug("models/gemini 1.5")
'models-gemini-1.5-5c67bf'
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from kgbench.rdf.declared import shipped
from kgbench.vocab import BASE, KGB

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def slug(name: str) -> str:
    """Convert ``name`` to a readable path segment: unsafe characters become ``-``.

    A digest is appended to changed names, so that different names give different slugs.
    """
    safe = _UNSAFE.sub("-", name).strip("-.")
    if safe == name and name:
        return name
    return f"{safe[:80]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def unique_names(labelled: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name IRIs, given with labels: a label that several have is followed by the end of the IRI.

    >>> unique_names([("m/a", "A"), ("m/b", "B"), ("n/b", "B")])
    {'m/a': 'A', 'm/b': 'B [b]', 'n/b': 'B [b]'}
    """
    names = dict(labelled)
    uses = Counter(names.values())
    return {
        iri: label if uses[label] == 1 else f"{label} [{iri.rpartition('/')[2]}]"
        for iri, label in names.items()
    }


def new_id() -> str:
    """Return a new UUIDv7 (RFC 9562), which sorts by time and is globally unique."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | (7 << 76) | (secrets.randbits(12) << 64)
    value |= (2 << 62) | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def id_from(source: str) -> str:
    """Return a name-based UUID (version 5): the same ``source`` gives the same id."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, BASE + source))


@cache
def _patterns() -> dict[str, str]:
    layout = shipped("store", "layout.ttl")
    return {
        layout.required(node, KGB.patternName): layout.required(node, KGB.pattern)
        for node in layout.subjects(KGB.pattern)
    }


@dataclass(frozen=True, slots=True)
class Iris:
    """The IRIs of a store, below ``base`` (which ends in ``/``)."""

    base: str = BASE

    def mint(self, pattern: str, **parts: object) -> str:
        """Return an IRI by the pattern called ``pattern`` in the layout, filled with ``parts``."""
        filled = _patterns()[pattern].format(**parts)
        return filled if "://" in filled else self.base + filled

    @property
    def catalogue(self) -> str:
        """The named graph with the declarations and the registry."""
        return self.mint("catalogueGraph")
