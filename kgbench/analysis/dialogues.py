# SPDX-License-Identifier: Apache-2.0
"""One dialogue as people read it: what was asked, answered and judged, and where it comes from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from kgbench.analysis import queries
from kgbench.errors import QueryError
from kgbench.store.protocol import Store
from kgbench.vocab import BASE, OUTCOME


@dataclass(frozen=True, slots=True)
class RoundView:
    """A prompt with its calls and, where one came, the answer."""

    round: int
    prompt: str
    feedback: str | None
    calls: tuple[str, ...]
    answer: str | None
    reasoning: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class VerdictView:
    """What one pass says of one answer, or of the whole dialogue."""

    title: str
    evaluation: str
    round: int | None
    outcome: str
    scores: tuple[tuple[str, float], ...]
    infos: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DialogueView:
    """A dialogue with its facts (name, value), rounds and verdicts."""

    iri: str
    facts: tuple[tuple[str, str | None], ...]
    rounds: tuple[RoundView, ...]
    verdicts: tuple[VerdictView, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return asdict(self)


def view(store: Store, dialogue: str, evaluation_pass: str | None = None) -> DialogueView:
    """The dialogue with the IRI ``dialogue``, with the verdicts of one pass or of all.

    Raises :class:`~kgbench.errors.QueryError` when the store holds no such dialogue.
    """
    found = list(queries.run(store, "dialogue-facts", dialogue=dialogue))
    if not found:
        raise QueryError(f"{store.location} holds no dialogue <{dialogue}>")
    return DialogueView(
        iri=dialogue,
        facts=_facts(found[0]),
        rounds=_rounds(store, dialogue),
        verdicts=_verdicts(store, dialogue, evaluation_pass),
    )


def _text(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _facts(row: Any) -> tuple[tuple[str, str | None], ...]:
    def short(name: str) -> str | None:
        text = _text(row[name])
        return None if text is None else text.removeprefix(BASE)

    label = _text(row["runLabel"])
    return (
        ("run", f"{short('run')} ({label})" if label else short("run")),
        ("model", short("model")),
        ("task", short("task")),
        ("suite", short("suite")),
        ("case", short("case")),
        ("iteration", _text(row["iteration"])),
        ("started", _text(row["started"])),
        ("ended", _text(row["ended"]) or "not complete"),
        ("software", short("agent")),
        ("graph", short("runGraph")),
    )


def _rounds(store: Store, dialogue: str) -> tuple[RoundView, ...]:
    by_round: dict[int, list[Any]] = {}
    for row in queries.run(store, "dialogue-turns", dialogue=dialogue):
        by_round.setdefault(int(row["round"].value), []).append(row)
    answers = {
        int(row["round"].value): row
        for row in queries.run(store, "dialogue-answers", dialogue=dialogue)
    }
    return tuple(
        _round(number, rows, answers.get(number)) for number, rows in sorted(by_round.items())
    )


def _round(number: int, calls: list[Any], answered: Any) -> RoundView:
    altered = answered is not None and answered["answerOriginal"] is not None
    return RoundView(
        round=number,
        prompt=_said(calls[0]["promptText"], calls[0]["promptNode"]),
        feedback=_text(calls[0]["feedback"]),
        calls=tuple(map(_call, calls)),
        answer=None if answered is None else _said(answered["answerText"], answered["answerNode"]),
        reasoning=None if answered is None else _text(answered["reasoningText"]),
        note="the answer has lone surrogates, shown as U+FFFD" if altered else None,
    )


def _said(text: Any, node: Any) -> str:
    """A text, or where it was removed for publication, what is left of it."""
    if text is not None:
        return str(text.value)
    return f"[the text was removed; its SHA-256 is {node.value.rpartition('/')[2]}]"


def _call(row: Any) -> str:
    parts = [f"called {row['callStarted'].value}, ended {row['callEnded'].value}"]
    for name, title in (("inputTokens", "tokens in"), ("outputTokens", "out")):
        if row[name] is not None:
            parts.append(f"{title} {row[name].value}")
    if row["finishReason"] is not None:
        parts.append(f"finished: {row['finishReason'].value}")
    if row["outcome"] is not None:
        parts.append(row["outcome"].value.removeprefix(OUTCOME))
    if row["error"] is not None:
        parts.append(row["error"].value)
    return "; ".join(parts)


def _verdicts(store: Store, dialogue: str, wanted: str | None) -> tuple[VerdictView, ...]:
    infos = {
        row["evaluation"].value: json.loads(row["infos"].value)
        for row in queries.run(store, "dialogue-infos", dialogue=dialogue, **{"pass": wanted})
    }
    first: dict[str, Any] = {}
    scores: dict[str, list[tuple[str, float]]] = {}
    for row in queries.run(store, "dialogue-scores", dialogue=dialogue, **{"pass": wanted}):
        evaluation = row["evaluation"].value
        first.setdefault(evaluation, row)
        if row["value"] is not None:
            pair = (str(row["name"].value), float(row["value"].value))
            scores.setdefault(evaluation, []).append(pair)
    found = [
        (
            row["started"].value,
            row["pass"].value,
            _verdict(row, scores.get(e, []), infos.get(e, {})),
        )
        for e, row in first.items()
    ]
    whole_last = float("inf")

    def order(one: tuple[str, str, VerdictView]) -> tuple[str, str, float]:
        return one[0], one[1], whole_last if one[2].round is None else one[2].round

    return tuple(verdict for _, _, verdict in sorted(found, key=order))


def _verdict(row: Any, scores: list[tuple[str, float]], infos: dict[str, Any]) -> VerdictView:
    round_ = None if row["round"] is None else int(row["round"].value)
    about = "whole dialogue" if round_ is None else f"answer {round_}"
    evaluation_pass = row["pass"].value.removeprefix(BASE)
    return VerdictView(
        title=f"verdict on {about} ({row['kind'].value}, {evaluation_pass})",
        evaluation=row["evaluation"].value,
        round=round_,
        outcome=row["outcome"].value.removeprefix(OUTCOME),
        scores=tuple(sorted(scores)),
        infos=tuple(
            (name, value if isinstance(value, str) else json.dumps(value))
            for name, value in sorted(infos.items())
        ),
    )
