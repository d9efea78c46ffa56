# SPDX-License-Identifier: Apache-2.0
"""Verdicts about a dialogue, and the dialogues that a judge's dialogue is about."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from kgbench.config.specs import WITHOUT_COST
from kgbench.engine.spending import recorded_price, total
from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.record import accounts
from kgbench.record.accounts import SessionPrice, Usage
from kgbench.record.judgements import DialogueVerdict, JudgeCall, verdicts_about
from kgbench.vocab import KGB

_MOST = 200  # shown verdicts about a dialogue


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


def judged_by(view: View, dialogue: str) -> list[str]:
    """Return the dialogues (IRIs) that a judge's dialogue is about, in the order shown."""
    verdicts = [
        verdict
        for verdict in things.subjects(view, KGB.dialogue, dialogue)
        if KGB.Verdict in things.kinds(view, verdict)
    ]
    items = [
        item.value for verdict in verdicts for item in things.values(view, verdict, KGB.judgedItem)
    ]
    placed = sorted((things.text(view, item, KGB.place) or "", item) for item in items)
    dialogues = [things.text(view, item, KGB.dialogue) for _, item in placed]
    return [iri for iri in dialogues if iri is not None]


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
