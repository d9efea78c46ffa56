# SPDX-License-Identifier: Apache-2.0
"""The page of a dialogue: its conversation with verdicts, the expected answer, its provenance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kgbench.analysis.dialogues import RoundView, VerdictView, view
from kgbench.pages import differences, drawing, judgements, neighbours, things
from kgbench.pages.measures import measures
from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.pages.verdicts import conversation_context
from kgbench.vocab import DCTERMS, KGB, PROV

_MOST_REASONS = 20


def conversation(store: View, iri: str, *, reveal: bool) -> dict[str, Any]:
    """Return the template context of the dialogue ``iri``; ``reveal`` adds the expected answer."""
    dialogue = view(store, iri)
    facts = {
        name: things.text(store, iri, predicate)
        for name, predicate in (
            ("model", KGB.model),
            ("task", KGB.task),
            ("suite", KGB.suite),
            ("case", KGB.case),
            ("execution", DCTERMS.isPartOf),
        )
    }
    facts["run"] = things.text(store, facts["execution"] or iri, DCTERMS.isPartOf)
    verdicts = [_titled(store, verdict) for verdict in dialogue.verdicts]
    shown = conversation_context(dialogue.rounds, verdicts, measures(store, facts["task"] or ""))
    expected = differences.expected(store, facts["task"], facts["case"])
    if reveal:
        for round_ in shown["rounds"]:
            infos = round_["verdicts"][0].verdict.infos if round_["verdicts"] else ()
            round_["differences"] = differences.differences(expected, round_["turn"].answer, infos)
    names = [things.label(store, facts[name] or "") for name in ("task", "model")]
    return {
        "title": f"{names[0]} by {names[1]}",
        "dialogue": dialogue,
        "reasons": [
            (invalidation, things.text(store, invalidation, KGB.reason) or "no reason was recorded")
            for invalidation in things.subjects(store, KGB.invalidates, iri, _MOST_REASONS)
        ],
        "facts": facts,
        **shown,
        "expected": expected.shown if reveal else [],
        "beside": neighbours.beside(store.database, iri),
        "others": neighbours.others(store.database, iri),
        "judgements": judgements.judgements(store, iri),
        "judged": judgements.judged_by(store, iri),
        "drawing": _drawing(store, iri, facts, dialogue.rounds),
    }


def _titled(store: View, verdict: VerdictView) -> VerdictView:
    """Return the verdict with a title that names its pass by kind and time."""
    of_pass = things.text(store, verdict.evaluation, PROV.wasGeneratedBy) or ""
    kind = things.text(store, of_pass, KGB.passKind) or "pass"
    started = moment(things.text(store, of_pass, PROV.startedAtTime))
    about = "the whole dialogue" if verdict.round is None else f"answer {verdict.round}"
    return replace(verdict, title=f"verdict on {about} ({kind}, {started})")


def _is_evaluation(store: View, iri: str) -> bool:
    return KGB.Evaluation in things.kinds(store, iri)


def _drawing(
    store: View, iri: str, facts: dict[str, str | None], rounds: tuple[RoundView, ...]
) -> drawing.Drawing:
    rows = []
    for round_ in rounds:
        row = {"prompt": f"{iri}/{round_.round}/prompt"}
        answer = f"{iri}/{round_.round}/answer"
        if round_.answer is not None:
            row["answer"] = answer
            call = things.text(store, answer, PROV.wasGeneratedBy)
            judged = things.subjects(store, PROV.wasDerivedFrom, answer, 20)
            # Evaluations of the whole dialogue are derived from each of its answers, too.
            of_round = (e for e in judged if things.text(store, e, KGB.round) == str(round_.round))
            evaluation = next((e for e in of_round if _is_evaluation(store, e)), None)
            if evaluation is not None:
                row["evaluation"] = evaluation
        else:
            call = f"{iri}/{round_.round}/call/0"
        if call is not None:
            row["call"] = call
        rows.append(row)
    return drawing.provenance(facts["case"] or "", facts["model"] or "", rows)
