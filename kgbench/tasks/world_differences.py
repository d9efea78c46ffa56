# SPDX-License-Identifier: Apache-2.0
"""DifferenceWorld: list the triples that differ between two graphs, up to names of blank nodes.

Graphs and changes are generated from the seed of the plan (:mod:`kgbench.worlds.differences`). An
answer lists removed (``-``) and added (``+``) triples. Blank nodes are converted to IRIs before
parsing, because parsers do not keep their labels.
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
from kgbench.worlds.matching import Row, is_isomorphic

NAME: Final = "DifferenceWorld"
SAME: Final = "same"
"""The answer for graphs without differences, in any case and with a full stop or without."""
_BLANK: Final = "urn:x-kgbench-blank-node:"
# Texts and IRIs are matched first, so that text within them is not taken for blank nodes.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|<[^<>\s]*+>|_:(\w(?:[\w.-]*\w)?)"""
)
_DIRECTIVE: Final = re.compile(r"@?(?:prefix|base)\s", re.IGNORECASE)
_POSITION: Final = re.compile(r"^line \d+, column \d+: ")
_SHOWN: Final = 5  # triples of each kind that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted


class Change(NamedTuple):
    """The triples that an answer removes and adds, or the error if it is unusable.

    ``error`` is ``None`` for a usable answer; ``has_block`` is false without a fenced block.
    """

    removed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    error: str | None = None
    has_block: bool = True

    @property
    def signed(self) -> frozenset[str]:
        """All triples, each with its sign."""
        return _signed(self.removed, self.added)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: pairs of graphs, each about other resources of the seed's world."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        pair = differences.pair(world, parameters["level"], iteration)
        return {
            "version": differences.VERSION,
            "first": pair.texts[0],
            "second": pair.texts[1],
            "triples": [list(rows) for rows in pair.triples],
            "removed": list(pair.removed),
            "added": list(pair.added),
            "features": list(pair.features),
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the two graphs."""
    shown = {name: case.data[name] for name in ("first", "second")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the triples in the last answer with the changed ones."""
    answer = answers[-1]
    change = _read(answer, executor)
    expected = _signed(*(_canonical(case.data[name]) for name in ("removed", "added")))
    given = change.signed
    usable = change.error is None
    agreed = Agreement(0.0, 0.0, 0.0)
    if usable:
        nothing = float(not expected)
        agreed = agreement(
            len(expected & given), len(given), len(expected), precision_of_nothing=nothing
        )
    first, second = (_canonical(rows) for rows in case.data["triples"])
    unknown = sorted(_signed(change.removed - first, change.added - second))
    leads_to_second = (
        usable and not unknown and _equal(first - change.removed, second - change.added)
    )
    scores = {
        "answerParse": float(usable),
        **agreed.named(),
        "exact": float(usable and given == expected),
        "leads": float(leads_to_second),
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
    return Verdict(scores, infos, outcome, *_feedback(change, unknown, leads=leads_to_second))


def reference(case: Case) -> str:
    """Return the reference answer: the changed triples."""
    lines = [f"- {row} ." for row in case.data["removed"]]
    lines += [f"+ {row} ." for row in case.data["added"]]
    return "\n".join(["```diff", *(lines or [SAME]), "```"])


def _read(answer: str, executor: Executor) -> Change:
    """Read the changes in the first fenced block of an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return Change(error="there is no fenced block in the answer", has_block=False)
    try:
        return _parse_lines([line.strip() for line in blocks[0].body.split("\n")], executor)
    except _UnreadableError as error:
        return Change(error=str(error))


class _UnreadableError(ValueError):
    """Lines are not a list of triples; the message gives the reason."""


def _parse_lines(lines: Sequence[str], executor: Executor) -> Change:
    """Parse the changes in lines. Raises :class:`_UnreadableError`."""
    content = [line for line in lines if line and not line.startswith("#")]
    if [line.rstrip(".").lower() for line in content] == [SAME]:
        return Change()
    for number, line in enumerate(lines, start=1):
        if line[:1] not in {"", "#", "+", "-"} and not _DIRECTIVE.match(line):
            raise _UnreadableError(f"line {number} begins with neither + nor -")
    removed, added = (_with_sign(sign, lines, executor) for sign in "-+")
    if not removed and not added:
        raise _UnreadableError(f"there are no triples; without changes, it has to say: {SAME}")
    return Change(removed, added)


def _with_sign(sign: str, lines: Sequence[str], executor: Executor) -> frozenset[str]:
    """Return the triples in lines with a sign. Raises :class:`_UnreadableError`.

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
            raise _UnreadableError(f"lines with {sign}: line {number}: {reason}")
    raise _UnreadableError(f"lines with {sign}: {parsed.error}")


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


def _signed(removed: frozenset[str], added: frozenset[str]) -> frozenset[str]:
    rows = [*(f"- {row}" for row in removed), *(f"+ {row}" for row in added)]
    return frozenset(row.replace(f"<{_BLANK}", "<_:") for row in rows)


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


def _feedback(change: Change, unknown: Sequence[str], *, leads: bool) -> tuple[str, str]:
    """Return the feedback on a wrong answer, and its kind."""
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
