# SPDX-License-Identifier: Apache-2.0
"""The page of a dialogue: its conversation with verdicts, the expected answer, its provenance.

A task class declares the names under which the data of its cases hold the reference answer, as a
text or as a set of values, and the names under which the infos of its evaluations hold the text or
values extracted from the answer. The page shows how they differ.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from kgbench.analysis import dialogues
from kgbench.config.specs import WITHOUT_COST
from kgbench.model import Json
from kgbench.pages import neighbours, rendering, things
from kgbench.pages.things import View, moment
from kgbench.pages.verdicts import Grouped, grouped, measures
from kgbench.record import accounts
from kgbench.record.accounts import SessionPrice, Usage, recorded_price, total
from kgbench.record.dialogues import StoredDialogues
from kgbench.record.judgements import DialogueVerdict, JudgeCall, verdicts_about
from kgbench.scores import catalogue
from kgbench.scoring.fences import fenced_blocks
from kgbench.vocab import DCTERMS, KGB, PROV

_LONGEST: Final = 20_000  # characters; comparing takes quadratic time
_MOST_LINES: Final = 400
_MOST_VALUES: Final = 200  # values of a set that a page shows
_CUT: Final = "..."  # marks the end of a list that is truncated in infos
_MOST = 200  # shown verdicts about a dialogue
_MOST_REASONS = 20


class Line(NamedTuple):
    """A line of a comparison.

    ``kind`` is ``removed``, ``added``, ``same``, or ``place`` for a gap. ``old`` and ``new`` are
    the line numbers in the two texts, ``None`` if a text does not have the line.
    """

    kind: str
    old: int | None
    new: int | None
    text: str


class Difference(NamedTuple):
    """Difference between an answer and the reference answer.

    ``lines`` compare texts; ``missing``, ``surplus`` and ``right`` compare sets of values. ``note``
    says why a comparison is missing or incomplete.
    """

    title: str
    is_equal: bool = False
    lines: Sequence[Line] = ()
    missing: Sequence[str] = ()
    surplus: Sequence[str] = ()
    right: Sequence[str] = ()
    note: str | None = None


class Expected(NamedTuple):
    """The reference answer of a case: text and values with their names, and the names in infos."""

    text: tuple[str, str] | None
    values: tuple[str, list[str]] | None
    judged_text: str | None
    judged_sets: tuple[str, ...]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Titles and texts of the reference answer for a page."""
        parts = [] if self.text is None else [(f"Reference text: {self.text[0]}", self.text[1])]
        if self.values is not None:
            parts.append((f"Reference values: {self.values[0]}", "\n".join(self.values[1])))
        return parts


def expected_answer(view: View, task: str | None, case: str | None) -> Expected:
    """Return the reference answer of a case, without texts that a publication left out."""
    task_class = things.text(view, task, KGB.taskClass) if task else None
    if task_class is None or case is None:
        return Expected(None, None, None, ())
    raw = things.text(view, case, KGB.caseData)
    try:
        data: Json = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        data = {}
    fields: Mapping[str, Json] = data if isinstance(data, dict) else {}
    text_name = things.text(view, task_class, KGB.referenceText) or ""
    set_name = things.text(view, task_class, KGB.referenceSet) or ""
    text, values = fields.get(text_name), _texts(fields.get(set_name))
    return Expected(
        (text_name, text) if isinstance(text, str) and text else None,
        (set_name, values) if values else None,
        things.text(view, task_class, KGB.judgedText),
        tuple(value.value for value in things.values(view, task_class, KGB.judgedSet)),
    )


def differences(
    reference: Expected, answer: str | None, infos: Sequence[tuple[str, str]]
) -> list[Difference]:
    """Compare ``answer`` with the ``reference`` text and values.

    ``infos`` are those of its evaluation. Nothing is compared without an answer, and values only if
    the infos have those of the answer.
    """
    if not answer:
        return []
    by_name = dict(infos)
    results = []
    if reference.text is not None:
        results.append(
            _text_difference(reference.text[1], _extracted_text(reference, answer, by_name))
        )
    if reference.values is not None:
        lists = [_parsed(by_name[name]) for name in reference.judged_sets if name in by_name]
        actual = max((values for values in lists if values is not None), key=len, default=None)
        if actual is not None:
            results.append(_set_difference(reference.values[1], actual))
    return results


def _extracted_text(reference: Expected, answer: str, by_name: Mapping[str, str]) -> str:
    if reference.judged_text is not None and by_name.get(reference.judged_text):
        return by_name[reference.judged_text]
    block = next(iter(fenced_blocks(answer[:_LONGEST])), None)
    return answer if block is None else block.body


def _text_difference(reference: str, actual: str) -> Difference:
    before, after = reference.strip().splitlines(), actual.strip().splitlines()
    title = "Difference from the reference text"
    if before == after:
        return Difference(title, is_equal=True)
    if max(len(reference), len(actual)) > _LONGEST or max(len(before), len(after)) > _MOST_LINES:
        return Difference(title, note="The texts are too long to be compared here.")
    return Difference(title, lines=_lines(before, after))


def _lines(before: list[str], after: list[str]) -> list[Line]:
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(2):
        if lines or group[0][1] or group[0][3]:
            lines.append(Line("place", None, None, "..."))
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                lines += [
                    Line("same", a + 1, b + 1, before[a])
                    for a, b in zip(range(a1, a2), range(b1, b2), strict=True)
                ]
                continue
            lines += [Line("removed", a + 1, None, before[a]) for a in range(a1, a2)]
            lines += [Line("added", None, b + 1, after[b]) for b in range(b1, b2)]
    return lines


def _set_difference(reference: list[str], actual: list[str]) -> Difference:
    is_cut = actual[-1:] == [_CUT]
    have, want = set(actual[:-1] if is_cut else actual), set(reference)
    missing, surplus = sorted(want - have), sorted(have - want)
    note = None
    if is_cut:  # values that seem to be missing may be in the truncated part
        missing, note = [], "Only the first values of the answer were recorded."
    elif len(missing) + len(surplus) > _MOST_VALUES:
        note = f"{len(missing):,} values are missing and {len(surplus):,} are unexpected."
    return Difference(
        "Difference from the reference values",
        is_equal=not (missing or surplus or is_cut),
        missing=missing[:_MOST_VALUES],
        surplus=surplus[:_MOST_VALUES],
        right=sorted(have & want)[:_MOST_VALUES],
        note=note,
    )


def _texts(value: Json) -> list[str]:
    """Return a list of texts; empty for values that a publication left out."""
    if isinstance(value, list):
        return [item if isinstance(item, str) else json.dumps(item) for item in value]
    return [value] if isinstance(value, str) else []


def _parsed(text: str) -> list[str] | None:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _texts(value) if isinstance(value, list) else None


def conversation(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:
    """Return the template context of the dialogue ``iri``; ``reveal`` adds the expected answer."""
    found = dialogues.read(view, iri)
    facts = {name: found.value(iri, KGB[name]) for name in ("model", "task", "suite", "case")}
    facts |= {"execution": found.value(iri, DCTERMS.isPartOf), "run": found.run(iri)}
    shown = talk(view, found, iri)
    expected = expected_answer(view, facts["task"], facts["case"])
    if reveal:
        for round_ in shown["rounds"]:
            infos = round_["verdicts"][0].verdict.infos if round_["verdicts"] else ()
            round_["differences"] = differences(expected, round_["turn"].answer, infos)
    names = [things.label(view, facts[name] or "") for name in ("task", "model")]
    return {
        "title": f"{names[0]} by {names[1]}",
        "facts": facts,
        **shown,
        "expected": expected.shown if reveal else [],
        "beside": neighbours.beside(view.database, iri),
        "others": neighbours.others(view.database, iri),
        "judgements": judgements(view, iri),
        "judged": judged_by(found, iri),
        "drawing": rendering.of_dialogue(found, iri),
    }


def talk(
    view: View, found: StoredDialogues, iri: str, format_info: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return a dialogue for templates: its rounds with verdicts, and verdicts on the ``whole``.

    The first verdict of each list is that of the first pass, whose scores count by default.
    ``format_info`` converts the value of an info to the text shown.
    """

    def verdict(evaluation: str) -> Grouped:
        by = things.label(view, found.value(evaluation, PROV.wasGeneratedBy) or "")
        return grouped(dialogues.verdict(found, evaluation, metrics, by, format_info), known)

    metrics = catalogue.metrics(view)
    known = measures(view, found.value(iri, KGB.task) or "")
    verdicts = [verdict(evaluation) for evaluation in found.evaluations[iri]]
    rounds: list[dict[str, Any]] = [
        {
            "turn": turn,
            "verdicts": [one for one in verdicts if one.verdict.round == turn.round],
            "differences": [],
            "same": None,
        }
        for turn in dialogues.rounds(found, iri)
    ]
    whole = [one for one in verdicts if one.verdict.round is None]
    last: list[Grouped] = next((r["verdicts"] for r in reversed(rounds) if r["verdicts"]), [])
    return {
        "iteration": found.value(iri, KGB.iteration),
        "started": found.value(iri, PROV.startedAtTime),
        "ended": found.value(iri, PROV.endedAtTime),
        "reasons": [
            (invalidation, things.text(view, invalidation, KGB.reason) or "no reason was recorded")
            for invalidation in things.subjects(view, KGB.invalidates, iri, _MOST_REASONS)
        ],
        "rounds": rounds,
        "whole": whole,
        "result": next(iter(whole), None) or next(iter(last), None),
        "main": known.by_name.get(known.main or ""),
    }


class JudgementView(NamedTuple):
    """A verdict about a dialogue, and in words its cost (model) or its time (person)."""

    said: DialogueVerdict
    took: str


def judgements(view: View, dialogue: str) -> list[JudgementView]:
    """Return the verdicts of models, then of people, about a dialogue, by rubric; at most 200."""
    verdicts = verdicts_about(view, dialogue)[:_MOST]
    graphs = {verdict.call.graph for verdict in verdicts if verdict.call is not None}
    paid = {graph: accounts.prices(view, graph) for graph in graphs}
    return [
        JudgementView(
            verdict,
            _decided(verdict)
            if verdict.call is None
            else _cost(view, verdict.judge, verdict.call, paid),
        )
        for verdict in verdicts
    ]


def judged_by(found: StoredDialogues, dialogue: str) -> list[str]:
    """Return the dialogues (IRIs) that a judge's dialogue is about, in the order shown."""
    items = [
        item
        for verdict in found.verdicts[dialogue]
        if found.is_a(verdict, KGB.Verdict)
        for item in found.iris(verdict, KGB.judgedItem)
    ]
    placed = sorted((found.value(item, KGB.place) or "", item) for item in items)
    return [iri for _, item in placed for iri in found.iris(item, KGB.dialogue)]


def _decided(verdict: DialogueVerdict) -> str:
    """Describe when and how fast a person decided."""
    after = "" if verdict.seconds is None else f", {verdict.seconds:,.1f} s after it was shown"
    settled = ", to settle earlier verdicts" if verdict.settles else ""
    return f"decided {moment(verdict.decided)}{after}{settled}"


def _cost(view: View, judge: str, call: JudgeCall, paid: dict[str, dict[str, SessionPrice]]) -> str:
    """Describe the tokens of a call, and its cost in USD if the price is known."""
    free = things.text(view, judge, KGB.connector) in WITHOUT_COST
    usage = Usage(answers=1, uncounted=int(call.read is None))
    usage.input, usage.output = call.read or 0, call.written or 0
    usage.cached = call.cached or 0
    if call.batched:
        usage.batch_input, usage.batch_output = usage.input, usage.output
        usage.batch_cached = usage.cached
    prices = paid[call.graph]
    price = recorded_price(prices[judge]) if judge in prices else None
    cost: Decimal | None = total(usage, price, free=free).cost
    tokens = (
        "tokens unknown"
        if call.read is None
        else f"{call.read:,} tokens in, {call.written or 0:,} out"
    )
    return tokens if cost is None else f"{tokens}, {cost.normalize():f} USD"
