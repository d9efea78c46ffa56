# SPDX-License-Identifier: Apache-2.0
"""The page of a dialogue: its conversation with verdicts, the expected answer, its provenance."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from kgbench.analysis import dialogues
from kgbench.config.specs import WITHOUT_COST
from kgbench.engine.spending import recorded_price, total
from kgbench.pages import differences, drawing, neighbours, things
from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.pages.verdicts import Grouped, grouped, measures
from kgbench.record import accounts
from kgbench.record.accounts import SessionPrice, Usage
from kgbench.record.dialogues import StoredDialogues
from kgbench.record.judgements import DialogueVerdict, JudgeCall, verdicts_about
from kgbench.scores import catalogue
from kgbench.vocab import DCTERMS, KGB, PROV

_MOST = 200  # shown verdicts about a dialogue
_MOST_REASONS = 20


def conversation(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:
    """Return the template context of the dialogue ``iri``; ``reveal`` adds the expected answer."""
    found = dialogues.read(view, iri)
    facts = {name: found.value(iri, KGB[name]) for name in ("model", "task", "suite", "case")}
    facts |= {"execution": found.value(iri, DCTERMS.isPartOf), "run": found.run(iri)}
    shown = talk(view, found, iri)
    expected = differences.expected(view, facts["task"], facts["case"])
    if reveal:
        for round_ in shown["rounds"]:
            infos = round_["verdicts"][0].verdict.infos if round_["verdicts"] else ()
            round_["differences"] = differences.differences(expected, round_["turn"].answer, infos)
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
        "drawing": drawing.of_dialogue(found, iri),
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
