# SPDX-License-Identifier: Apache-2.0
"""One dialogue as people read it: what was asked, answered and judged, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.rdf import iri, queries
from kgbench.record import counted, tool_uses
from kgbench.record.withheld import removed
from kgbench.store.protocol import Store
from kgbench.tool_calls import TOOL_RESULTS, ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import BASE, OUTCOME

_BRIEF = 100  # characters
_MILLISECOND = 0.001  # seconds


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool call in an answer: how it ended, why it was not passed on, what went in and out.

    ``server`` is the name of the server that gave the result, ``seconds`` how long that took.
    """

    tool: str
    outcome: str
    fault: str | None
    arguments: str
    result: str
    server: str | None = None
    seconds: float | None = None

    @property
    def brief(self) -> str:
        """The call in one short line.

        >>> ToolView("search", "ok", None, '{"text": "Ada", "limit": 5}', "").brief
        'search(text: Ada, limit: 5)'
        """
        try:
            given = arguments.read(self.arguments)
        except ValueError:
            words = one_line(self.arguments)
        else:
            words = ", ".join(f"{name}: {_short(value)}" for name, value in given.items())
        words = words if len(words) <= _BRIEF else words[: _BRIEF - 1] + "\u2026"
        return f"{one_line(self.tool) or 'no tool'}({words})"

    @property
    def size(self) -> str:
        """How much the result is, in words."""
        lines = self.result.count("\n") + 1
        return "1 line" if lines == 1 else f"{lines} lines"

    @property
    def took(self) -> str:
        """How long the tool worked, in words; empty where nobody knows, or no tool worked.

        >>> [ToolView("query", "ok", None, "", "", None, s).took for s in (0, 4.8e-05, 0.25, 75)]
        ['', 'under 1 ms', '250 ms', '75.0 s']
        """
        if not self.seconds:
            return ""
        if self.seconds < _MILLISECOND:
            return "under 1 ms"
        return f"{self.seconds:.1f} s" if self.seconds >= 1 else f"{1000 * self.seconds:.0f} ms"


def _short(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class RoundView:
    """A prompt with its calls and, where one came, the answer with the tools that it calls."""

    round: int
    prompt: str
    feedback: str | None
    calls: tuple[str, ...]
    answer: str | None
    reasoning: str | None
    note: str | None
    tools: tuple[ToolView, ...] = ()

    @property
    def of_tools(self) -> bool:
        """Whether the prompt gives the results of the calls before it, and nothing else."""
        return self.feedback == TOOL_RESULTS

    @property
    def beside(self) -> str:
        """What an answer with tool calls says beside them."""
        text, native = wording.spoken(self.answer or "")
        if native or not self.tools:
            return text.strip()
        return "" if text.lstrip().startswith("{") else text.partition("```")[0].strip()


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
        rounds=_rounds(store, dialogue, found[0]["runGraph"].value),
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


def _rounds(store: Store, dialogue: str, graph: str) -> tuple[RoundView, ...]:
    by_round: dict[int, list[Any]] = {}
    for row in queries.run(store, "dialogue-turns", dialogue=dialogue):
        by_round.setdefault(int(row["round"].value), []).append(row)
    answers = {
        int(row["round"].value): row
        for row in queries.run(store, "dialogue-answers", dialogue=dialogue)
    }
    only = f"VALUES ?dialogue {{ {iri(dialogue)} }}"
    used = tool_uses.read(store, graph, only).get(dialogue, {})
    return tuple(
        _round(number, rows, answers.get(number), used.get(number, ()))
        for number, rows in sorted(by_round.items())
    )


def _round(number: int, calls: list[Any], answered: Any, used: Sequence[ToolUse]) -> RoundView:
    altered = answered is not None and answered["answerOriginal"] is not None
    return RoundView(
        round=number,
        prompt=_said(calls[0]["promptText"], calls[0]["promptNode"]),
        feedback=_text(calls[0]["feedback"]),
        calls=tuple(map(_call, calls)),
        answer=None if answered is None else _said(answered["answerText"], answered["answerNode"]),
        reasoning=None if answered is None else _text(answered["reasoningText"]),
        note="the answer has lone surrogates, shown as U+FFFD" if altered else None,
        tools=tuple(map(_tool, used)),
    )


def _tool(use: ToolUse) -> ToolView:
    call, result = use.call, use.result
    return ToolView(
        *(call.name, result.outcome, result.fault, call.arguments, result.text),
        server=None if use.server is None else f"{use.server.name} {use.server.version}".strip(),
        seconds=(use.ended - use.started).total_seconds(),
    )


def _said(text: Any, node: Any) -> str:
    """A text, or where it was removed for publication, what is left of it."""
    if text is not None:
        return str(text.value)
    return removed(str(node.value))


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
    round_ = counted.round_of(row)
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
