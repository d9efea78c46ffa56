# SPDX-License-Identifier: Apache-2.0
"""Replacing digests of what is left out, where IRIs hold them.

An IRI that is made from the digest of a text, or of things one of which is left out, gives that
back as the digest itself would: guesses can be compared with it. In a publication that leaves
anything out, such digests are veiled under the key of the store: those of dialogues, configurations
and texts that are left out are replaced by digits of which only the key can tell the original. A
``w`` before the digits says so.

Cases have other digits, too, where part of their data is left out: the digest of the part that is
published. So equal cases of several groups keep equal IRIs. Where a store has several cases that
differ only in what is left out, their digits depend on the key, and no other group has the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyoxigraph as ox

from kgbench.publish.withholding import Level, parsed, public
from kgbench.rdf import canonical_json, digest
from kgbench.secrets.commitments import VEILED, Commitments
from kgbench.vocab import BASE, KGB, RDF

_DIALOGUE = re.compile(r"(\d+-)([0-9a-f]{8})(\.\d+)?")
_VEILED_DIALOGUE = re.compile(rf"(\d+-){VEILED}([0-9a-f]{{8}})(\.\d+)?")
_IN_TEXT = re.compile(r"(?<=/)(\d+-)([0-9a-f]{8})(?![0-9A-Za-z-])")
_TEXT = re.compile(r"/text/[0-9a-f]{64}\Z")
_DIGITS = re.compile(r"(?:[0-9a-f]{2}){4,32}")
_PLACE = 4  # of a dialogue in the path below the base: run/ID/MODEL/LABEL/DIALOGUE
_CASE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Veil:
    """Veils digests in paths below the base of a store; ``cases`` are paths and their new ones."""

    commitments: Commitments
    cases: Mapping[str, str] = field(default_factory=dict)

    def path(self, rest: str) -> str:
        """A path with the digests of cases, dialogues and configurations veiled."""
        if rest in self.cases:
            return self.cases[rest]
        rest, hash_, fragment = rest.partition("#")
        parts = rest.split("/")
        if parts[0] == "run" and len(parts) == _PLACE and parts[2] == "configuration":
            parts[3] = self.digits(parts[3])
        elif parts[0] in ("run", "pass") and len(parts) > _PLACE:
            found = _DIALOGUE.fullmatch(parts[_PLACE])
            if found is not None:
                first, digits, again = found.groups(default="")
                parts[_PLACE] = f"{first}{self.digits(digits)}{again}"
        return "/".join(parts) + hash_ + fragment

    def text(self, iri: str) -> str:
        """The IRI of a text that is left out, with its digest veiled."""
        start, slash, digits = iri.rpartition("/")
        return f"{start}{slash}{self.digits(digits)}"

    @staticmethod
    def names_text(iri: str) -> bool:
        """Whether an IRI may be that of a text: it ends with a digest."""
        return _TEXT.search(iri) is not None

    def within(self, text: str) -> str:
        """A text with the digests of dialogues veiled that it names by their paths."""
        return _IN_TEXT.sub(lambda found: found[1] + self.digits(found[2]), text)

    def original(self, rest: str) -> str:
        """The path of a run or pass that became ``rest``."""
        rest, hash_, fragment = rest.partition("#")
        parts = rest.split("/")
        if parts[0] == "run" and len(parts) == _PLACE and parts[2] in ("configuration", "text"):
            parts[3] = self._unveiled(parts[3])
        elif parts[0] in ("run", "pass") and len(parts) > _PLACE:
            found = _VEILED_DIALOGUE.fullmatch(parts[_PLACE])
            if found is not None:
                first, digits, again = found.groups(default="")
                parts[_PLACE] = f"{first}{self._unveiled(VEILED + digits)}{again}"
        return "/".join(parts) + hash_ + fragment

    def digits(self, digits: str) -> str:
        """What stands for ``digits``; what is no digest stays."""
        return VEILED + _veiled(self.commitments, digits) if _DIGITS.fullmatch(digits) else digits

    def _unveiled(self, digits: str) -> str:
        plain = digits.removeprefix(VEILED)
        return digits if plain == digits else self.commitments.unveil(plain)


@lru_cache(maxsize=50_000)
def _veiled(commitments: Commitments, digits: str) -> str:
    return commitments.veil(digits)


def cases(database: ox.Store, level: Level, commitments: Commitments) -> dict[str, str]:
    """The paths of cases that are left out in part at ``level``, below our base, and new ones."""
    if level is Level.NONE:
        return {}
    published: dict[str, str] = {}
    for iri, said in _cases(database):
        data = parsed(said.get(KGB.caseData, "{}"))
        kept = public(data, level)
        if not isinstance(data, dict) or len(kept) < len(data):
            content = [iri.rpartition("/")[0], said.get(KGB.parameters, "{}"), canonical_json(kept)]
            published[iri] = digest(canonical_json(content))
    alike = Counter(published.values())
    found = {}
    for iri, told in published.items():
        own = told if alike[told] == 1 else commitments.tag("case", iri)
        path = iri.removeprefix(BASE)
        found[path] = f"{path.rpartition('/')[0]}/{VEILED}{own[:_CASE_DIGITS]}"
    return found


def _cases(database: ox.Store) -> Iterator[tuple[str, Mapping[str, str]]]:
    kind = ox.NamedNode(KGB.Case)
    for quad in database.quads_for_pattern(None, ox.NamedNode(RDF.type), kind):
        found: Any = database.quads_for_pattern(quad.subject, None, None)
        said = {one.predicate.value: str(getattr(one.object, "value", "")) for one in found}
        yield str(getattr(quad.subject, "value", "")), said
