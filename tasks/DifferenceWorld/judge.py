# SPDX-License-Identifier: Apache-2.0
"""DifferenceWorld: list the triples that differ between two graphs, up to names of blank nodes.

An answer lists removed (``-``) and added (``+``) triples. Blank nodes are converted to IRIs before
parsing, because parsers do not keep their labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    Case,
    DocumentFamily,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    Unreadable,
    compare,
    quoted,
    world_of,
)
from kgbench.worlds.rows import Row, is_isomorphic

from .cases import VERSION, draw_pair

SAME: Final = "same"
"""The answer for graphs without differences, in any case and with a full stop or without."""
_BLANK: Final = "urn:x-kgbench-blank-node:"
# Texts and IRIs are matched first, so that text within them is not taken for blank nodes.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|<[^<>\s]*+>|_:(\w(?:[\w.-]*\w)?)"""
)
_DIRECTIVE: Final = re.compile(r"@?(?:prefix|base)\s", re.IGNORECASE)
_POSITION: Final = re.compile(r"^line \d+, column \d+: ")


class Change(NamedTuple):
    """The triples that an answer removes and adds."""

    removed: frozenset[str]
    added: frozenset[str]

    @property
    def signed(self) -> frozenset[str]:
        """All triples, each with its sign."""
        rows = [*(f"- {row}" for row in self.removed), *(f"+ {row}" for row in self.added)]
        return frozenset(row.replace(f"<{_BLANK}", "<_:") for row in rows)


NOTHING: Final = Change(frozenset(), frozenset())


class DifferenceWorld(DrawnFamily, DocumentFamily[Change]):
    """Pairs of graphs, each about other resources of the seed's world."""

    shows = ("first", "second")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw two graphs and their difference."""
        pair = draw_pair(world_of(task, seed), task.parameters["level"], number)
        return {
            "version": VERSION,
            "first": pair.texts[0],
            "second": pair.texts[1],
            "triples": [list(rows) for rows in pair.triples],
            "removed": list(pair.removed),
            "added": list(pair.added),
            "features": list(pair.features),
        }

    def read(self, case: Case, document: str, executor: Executor) -> Change:
        """Read the changes in the lines of a document."""
        lines = [line.strip() for line in document.split("\n")]
        content = [line for line in lines if line and not line.startswith("#")]
        if [line.rstrip(".").lower() for line in content] == [SAME]:
            return NOTHING
        for number, line in enumerate(lines, start=1):
            if line[:1] not in {"", "#", "+", "-"} and not _DIRECTIVE.match(line):
                raise Unreadable(f"line {number} begins with neither + nor -")
        change = Change(*(_with_sign(sign, lines, executor) for sign in "-+"))
        if change == NOTHING:
            raise Unreadable(f"there are no triples; without changes, it has to say: {SAME}")
        return change

    def score(self, case: Case, answer: Change | None, executor: Executor) -> Score:
        """Compare the changes of an answer with the expected ones, and carry them out."""
        expected = Change(*(_canonical(case.data[name]) for name in ("removed", "added"))).signed
        change = answer or NOTHING
        given = change.signed
        compared = compare(expected, given, precision_of_nothing=float(not expected))
        first, second = (_canonical(rows) for rows in case.data["triples"])
        unknown = sorted(Change(change.removed - first, change.added - second).signed)
        leads = not unknown and _equal(first - change.removed, second - change.added)
        scores = {
            **compared.agreement.named(),
            "exact": compared.exact,
            "leads": float(leads),
            "verdict": float(bool(given) == bool(expected)),
        }

        def feedback() -> Feedback:
            if unknown:
                return self.feedback("unknown", triples=quoted(unknown))
            return self.feedback("needless" if leads else "not-equal")

        return Score(scores, compared.infos(), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the changed triples."""
        lines = [f"- {row} ." for row in case.data["removed"]]
        lines += [f"+ {row} ." for row in case.data["added"]]
        return "\n".join(["```diff", *(lines or [SAME]), "```"])


family: Final = DifferenceWorld(__file__)


def _with_sign(sign: str, lines: Sequence[str], executor: Executor) -> frozenset[str]:
    """Return the triples in lines with a sign. Raises :class:`Unreadable`.

    A line may lack its final dot. The lines are one document, so that a triple may also continue on
    further lines; an error is that of the first line that is no document on its own.
    """
    signed = [
        line[1:] if line[:1] == sign else line if _DIRECTIVE.match(line) else "" for line in lines
    ]
    for document in (signed, [_with_dot(line) for line in signed]):
        parsed = executor.parse(_TOKEN.sub(_as_iri, "\n".join(document)), "turtle")
        if parsed.triples is not None:
            return _canonical([line.removesuffix(" .") for line in parsed.triples])
    directives = [line for line in lines if _DIRECTIVE.match(line)]
    for number, line in enumerate(signed, start=1):
        text = "\n".join([*directives, _with_dot(line)])
        alone = executor.parse(_TOKEN.sub(_as_iri, text), "turtle")
        if alone.error is not None:
            reason = _POSITION.sub("", alone.error).replace(_BLANK, "_:")
            raise Unreadable(f"lines with {sign}: line {number}: {reason}")
    raise Unreadable(f"lines with {sign}: {parsed.error}")


def _with_dot(line: str) -> str:
    """Return a line of a document with its final dot; directives and continued lines stay."""
    is_whole = not line.strip() or line.rstrip().endswith((".", ";", ","))
    return line if is_whole or _DIRECTIVE.match(line) else f"{line} ."


def _as_iri(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f"<{_BLANK}{match[1]}>"


def _canonical(rows: Sequence[str]) -> frozenset[str]:
    """Return triples in a canonical form, with IRIs for blank nodes."""
    text = "\n".join(f"{_TOKEN.sub(_as_iri, row)} ." for row in rows)
    return frozenset(str(quad.triple) for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES))


def _equal(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets of triples are isomorphic."""
    return is_isomorphic(*(frozenset(map(_row, rows)) for rows in (first, second))) is True


def _row(line: str) -> Row:
    cells = (
        f"_:{cell[1 + len(_BLANK) : -1]}" if cell.startswith(f"<{_BLANK}") else cell
        for cell in line.split(" ", 2)
    )
    subject, predicate, value = cells
    return subject, predicate, value
