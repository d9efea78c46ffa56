# SPDX-License-Identifier: Apache-2.0
"""What judges said of a dialogue, and what a judge's dialogue is about, as pages show it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from kgbench.config.specs import WITHOUT_PROVIDER
from kgbench.engine.spending import recorded_price, total
from kgbench.judges.rubrics import Option, Rubric, every_rubric
from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.rdf import queries
from kgbench.record import accounts
from kgbench.record.accounts import Paid, Usage
from kgbench.record.withheld import removed
from kgbench.vocab import KGB

_MOST = 200  # verdicts about one dialogue that are shown


class JudgementView(NamedTuple):
    """A verdict of a judge about a dialogue, with its rubric, its reason and what it cost.

    ``shown`` says which answer of a pair the dialogue was to the judge. ``agrees`` compares the
    verdict with ``executed``, the option that execution implies; both are ``None`` without one.
    ``rubric`` is ``None`` where it is not declared here.
    """

    verdict: str
    judge: str
    asked: str
    rubric_iri: str
    rubric: Rubric | None
    chosen: str
    executed: str | None
    agrees: bool | None
    shown: str | None
    options: tuple[str, ...]
    reason: str
    cost: str


def judgements(view: View, dialogue: str) -> list[JudgementView]:
    """The verdicts about a dialogue by rubric and judge, at most 200."""
    known = {rubric.iri: rubric for rubric in every_rubric()}
    rows = list(queries.run(view, "verdicts-about", dialogue=dialogue))[:_MOST]
    graphs = {row["runGraph"].value for row in rows}
    paid = {graph: accounts.prices(view, graph) for graph in graphs}
    return [
        _judgement(view, row, known.get(row["rubric"].value), paid[row["runGraph"].value])
        for row in rows
    ]


def judged_by(view: View, dialogue: str) -> list[str]:
    """The dialogues (IRIs) that a dialogue with a judge is about, in the order shown."""
    verdicts = [
        one
        for one in things.subjects(view, KGB.dialogue, dialogue)
        if KGB.Verdict in things.kinds(view, one)
    ]
    items = [item.value for one in verdicts for item in things.values(view, one, KGB.judgedItem)]
    placed = sorted((things.text(view, item, KGB.place) or "", item) for item in items)
    found = [things.text(view, item, KGB.dialogue) for _, item in placed]
    return [iri for iri in found if iri is not None]


def _judgement(
    view: View, row: Any, rubric: Rubric | None, prices: dict[str, Paid]
) -> JudgementView:
    options = {} if rubric is None else {option.iri: option for option in rubric.options}
    chosen, executed = row["chosen"].value, row["executed"]
    compared = rubric is not None and rubric.kind == "compare"
    text = row["answerText"]
    return JudgementView(
        verdict=row["verdict"].value,
        judge=row["judge"].value,
        asked=row["asked"].value,
        rubric_iri=row["rubric"].value,
        rubric=rubric,
        chosen=_name(options, chosen),
        executed=None if executed is None else _name(options, executed.value),
        agrees=None if executed is None else executed.value == chosen,
        shown=("first answer", "second answer")[int(row["place"].value)] if compared else None,
        options=tuple(row["optionOrder"].value.split()),
        reason=removed(row["answerNode"].value) if text is None else str(text.value),
        cost=_cost(view, row, prices),
    )


def _name(options: dict[str, Option], iri: str) -> str:
    return options[iri].name if iri in options else iri.rpartition("/")[2]


def _cost(view: View, row: Any, prices: dict[str, Paid]) -> str:
    """The tokens of a call, and USD where its price is known."""
    judge = row["judge"].value
    free = things.text(view, judge, KGB.connector) in WITHOUT_PROVIDER
    read, written, cached = (
        None if row[name] is None else int(row[name].value)
        for name in ("inputTokens", "outputTokens", "cachedTokens")
    )
    usage = Usage(answers=1, uncounted=int(read is None))
    usage.input, usage.output, usage.cached = read or 0, written or 0, cached or 0
    if row["batched"].value == "true":
        usage.batch_input, usage.batch_output = usage.input, usage.output
        usage.batch_cached = usage.cached
    price = recorded_price(prices[judge]) if judge in prices else None
    cost: Decimal | None = total(usage, price, free=free).cost
    tokens = "tokens unknown" if read is None else f"{read:,} tokens in, {written or 0:,} out"
    return tokens if cost is None else f"{tokens}, {cost.normalize():f} USD"
