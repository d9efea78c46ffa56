# SPDX-License-Identifier: Apache-2.0
"""DifferenceWorld: say which triples differ in two graphs, up to the names of blank nodes.

Graphs and changes follow from the seed of the plan (:mod:`kgbench.worlds.differences`). An answer
is a list of triples that are removed (``-``) and added (``+``). Blank nodes are put in IRIs before
it is parsed, because parsers do not keep their labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.scoring.agreement import Agreement, agreement
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue, texts, turtle_answers
from kgbench.tasks.world_questions import world_of
from kgbench.worlds import differences
from kgbench.worlds.matching import Row, isomorphic

NAME: Final = "DifferenceWorld"
SAME: Final = "same"
"""What an answer says of graphs without differences."""
_BLANK: Final = "urn:x-kgbench-blank-node:"
# Texts and IRIs come first, so that what looks like a blank node within them is left as it is.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|<[^<>\s]*+>|_:(\w(?:[\w.-]*\w)?)"""
)
_DIRECTIVE: Final = re.compile(r"@?(?:prefix|base)\s", re.IGNORECASE)
_SHOWN: Final = 5  # triples of each kind that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted
_FEEDBACK: Final = ("no-block", "syntax", "unknown", "not-equal", "needless")


class Change(NamedTuple):
    """Triples that an answer removes and adds, or why it cannot be used.

    ``error`` is ``None`` for a usable answer; ``has_block`` is false without a fenced block.
    """

    removed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    error: str | None = None
    has_block: bool = True

    @property
    def signed(self) -> frozenset[str]:
        """All triples, with what happens to them."""
        return _signed(self.removed, self.added)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` pairs of graphs, each with other things of the world of a seed."""
    chosen = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        found = differences.pair(world, chosen["level"], iteration)
        return {
            "version": differences.VERSION,
            "first": found.texts[0],
            "second": found.texts[1],
            "triples": [list(rows) for rows in found.triples],
            "removed": list(found.removed),
            "added": list(found.added),
            "features": list(found.features),
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The two graphs."""
    shown = {name: case.data[name] for name in ("first", "second")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the triples in the last answer with those that were changed."""
    answer = answers[-1]
    change = _read(answer, executor)
    expected = _signed(*(_normal(case.data[name]) for name in ("removed", "added")))
    given = change.signed
    usable = change.error is None
    agreed = Agreement(0.0, 0.0, 0.0)
    if usable:
        nothing = float(not expected)
        agreed = agreement(
            len(expected & given), len(given), len(expected), precision_of_nothing=nothing
        )
    first, second = (_normal(rows) for rows in case.data["triples"])
    unknown = sorted(_signed(change.removed - first, change.added - second))
    leads = usable and not unknown and _equal(first - change.removed, second - change.added)
    scores = {
        "answerParse": float(usable),
        **agreed.named(),
        "exact": float(usable and given == expected),
        "leads": float(leads),
        "verdict": float(usable and bool(given) == bool(expected)),
    }
    infos: dict[str, Json] = {
        "parseError": change.error,
        "missed": sorted(expected - given)[:_LISTED],
        "invented": [row[:_LONGEST] for row in sorted(given - expected)[:_LISTED]],
    }
    outcome = turtle_answers.outcome(answer, usable=usable)
    if scores["exact"] or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    return Verdict(scores, infos, outcome, *_said(change, unknown, leads=leads))


def reference(case: Case) -> str:
    """The triples that were changed."""
    lines = [f"- {row} ." for row in case.data["removed"]]
    lines += [f"+ {row} ." for row in case.data["added"]]
    return "\n".join(["```diff", *(lines or [SAME]), "```"])


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    for name in _FEEDBACK:
        texts.text(NAME, f"feedback-{name}.txt")


def _read(answer: str, executor: Executor) -> Change:
    """The changes in the first fenced block of an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return Change(error="there is no fenced block in the answer", has_block=False)
    try:
        return _listed([line.strip() for line in blocks[0].body.split("\n")], executor)
    except _UnreadableError as error:
        return Change(error=str(error))


class _UnreadableError(ValueError):
    """Lines that are no list of triples; the message says why."""


def _listed(lines: Sequence[str], executor: Executor) -> Change:
    """The changes that lines tell of. Raises :class:`_UnreadableError`."""
    told = [line for line in lines if line and not line.startswith("#")]
    if told == [SAME]:
        return Change()
    for number, line in enumerate(lines, start=1):
        if line[:1] not in {"", "#", "+", "-"} and not _DIRECTIVE.match(line):
            raise _UnreadableError(f"line {number} begins with neither + nor -")
    removed, added = (_with_sign(sign, lines, executor) for sign in "-+")
    if not removed and not added:
        raise _UnreadableError(f"there are no triples; without changes, it has to say: {SAME}")
    return Change(removed, added)


def _with_sign(sign: str, lines: Sequence[str], executor: Executor) -> frozenset[str]:
    """The triples behind a sign. Raises :class:`_UnreadableError`."""
    # The lines that are left out stay as empty ones, so that messages have the right numbers.
    text = "\n".join(
        f" {line[1:]}" if line[:1] == sign else line if _DIRECTIVE.match(line) else ""
        for line in lines
    )
    parsed = executor.parse(_TOKEN.sub(_as_iri, text), "turtle")
    if parsed.triples is None:
        raise _UnreadableError(f"lines with {sign}: {parsed.error}")
    return _normal([line.removesuffix(" .") for line in parsed.triples])


def _as_iri(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f"<{_BLANK}{match[1]}>"


def _normal(rows: Sequence[str]) -> frozenset[str]:
    """Triples as texts in which equal ones are alike; blank nodes are IRIs."""
    text = "\n".join(f"{_TOKEN.sub(_as_iri, row)} ." for row in rows)
    return frozenset(str(quad.triple) for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES))


def _signed(removed: frozenset[str], added: frozenset[str]) -> frozenset[str]:
    rows = [*(f"- {row}" for row in removed), *(f"+ {row}" for row in added)]
    return frozenset(row.replace(f"<{_BLANK}", "<_:") for row in rows)


def _equal(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two parts of the graphs of a case are the same up to blank nodes."""
    return isomorphic(*(frozenset(map(_row, rows)) for rows in (first, second))) is True


def _row(line: str) -> Row:
    cells = (
        f"_:{cell[1 + len(_BLANK) : -1]}" if cell.startswith(f"<{_BLANK}") else cell
        for cell in line.split(" ", 2)
    )
    subject, predicate, value = cells
    return subject, predicate, value


def _said(change: Change, unknown: Sequence[str], *, leads: bool) -> tuple[str, str]:
    """The feedback about an answer that is not right, and its kind."""
    if not change.has_block:
        return texts.text(NAME, "feedback-no-block.txt"), "format"
    if change.error is not None:
        return texts.filled(NAME, "feedback-syntax.txt", message=change.error), "syntax"
    if unknown:
        lines = [f"* {row[:_LONGEST]}" for row in unknown[:_SHOWN]]
        if len(unknown) > _SHOWN:
            lines.append("* and more")
        return texts.filled(NAME, "feedback-unknown.txt", triples="\n".join(lines)), "content"
    name = "feedback-needless.txt" if leads else "feedback-not-equal.txt"
    return texts.text(NAME, name), "content"
