# SPDX-License-Identifier: Apache-2.0
"""Presents one dialogue to readers: prompts, answers, verdicts and provenance.

The views are made of the values of :mod:`kgbench.model`, for ``kgbench show``, pages and
publications.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.model import Call, Evaluation, Turn
from kgbench.rdf import queries, storable
from kgbench.record.assembly import evaluation
from kgbench.record.dialogues import Facts, turns
from kgbench.record.schema import disclosed
from kgbench.store.protocol import Store
from kgbench.tool_calls import TOOL_RESULTS, ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import BASE, KGB

_BRIEF = 100  # characters
_MILLISECOND = 0.001  # seconds
_ZEROS = re.compile(r"(\.[0-9]*[1-9])0+(?![0-9])")  # at the end of a fraction of a second
_COLUMNS = {"dialogue": KGB.dialogue, "round": KGB.round, "outcome": KGB.outcome}


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool call in an answer, with its outcome, arguments and result.

    ``fault`` is the reason why it was not passed to a tool. ``server`` is the name of the server
    that gave the result, ``seconds`` the time that this took.
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
        """The call as one short line.

        >>> ToolView("search", "ok", None, '{"text": "Ada", "limit": 5}', "").brief
        'search(text: Ada, limit: 5)'
        """
        try:
            values = arguments.read(self.arguments)
        except ValueError:
            words = one_line(self.arguments)
        else:
            words = ", ".join(f"{name}: {_short(value)}" for name, value in values.items())
        words = words if len(words) <= _BRIEF else words[: _BRIEF - 1] + "\u2026"
        return f"{one_line(self.tool) or 'no tool'}({words})"

    @property
    def size(self) -> str:
        """The number of lines of the result, in words."""
        lines = self.result.count("\n") + 1
        return "1 line" if lines == 1 else f"{lines} lines"

    @property
    def took(self) -> str:
        """The duration of the call, in words; empty if it is unknown or zero.

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
    """A prompt with its model calls and, if there is one, the answer with its tool calls."""

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
        """Whether the prompt only reports the results of the previous tool calls."""
        return self.feedback == TOOL_RESULTS

    @property
    def beside(self) -> str:
        """The text of an answer besides its tool calls."""
        text, native = wording.split_calls(self.answer or "")
        if native or not self.tools:
            return text.strip()
        return "" if text.lstrip().startswith("{") else text.partition("```")[0].strip()


@dataclass(frozen=True, slots=True)
class VerdictView:
    """An evaluation of one answer, or of the whole dialogue, by one pass."""

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
        """Return the view as a JSON object."""
        return asdict(self)


def view(store: Store, dialogue: str, evaluation_pass: str | None = None) -> DialogueView:
    """Read the dialogue ``dialogue`` (IRI), with the verdicts of one pass or of all.

    Raises :class:`~kgbench.errors.QueryError` if the store holds no such dialogue.
    """
    rows = list(queries.run(store, "dialogue-facts", dialogue=dialogue))
    if not rows:
        raise QueryError(f"{store.location} holds no dialogue <{dialogue}>")
    return DialogueView(
        iri=dialogue,
        facts=_facts(rows[0]),
        rounds=_rounds(store, dialogue, rows[0]["runGraph"].value),
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
    by_round = turns(store, graph, [dialogue]).get(dialogue, {})
    return tuple(round_view(k, turn, reasoning=disclosed) for k, turn in by_round.items())


def round_view(
    k: int, turn: Turn, reasoning: Callable[[str | None], str | None] = lambda text: text
) -> RoundView:
    """Present round ``k`` of a dialogue; ``reasoning`` gives what is shown of the reasoning."""
    reply = turn.calls[-1].reply if turn.calls else None
    answer = None if reply is None else storable(reply.text)
    thoughts = None if reply is None else reasoning(reply.reasoning)
    return RoundView(
        round=k,
        prompt=_visible(turn.prompt),
        feedback=turn.feedback,
        calls=tuple(map(_call, turn.calls)),
        answer=None if answer is None else answer.value,
        reasoning=None if thoughts is None else _visible(thoughts),
        note="the answer has lone surrogates, shown as U+FFFD"
        if answer is not None and answer.original is not None
        else None,
        tools=tuple(map(_tool, turn.uses)),
    )


def _tool(use: ToolUse) -> ToolView:
    call, result = use.call, use.result
    return ToolView(
        call.name,
        result.outcome.value,
        None if result.fault is None else result.fault.value,
        _visible(call.arguments),
        _visible(result.text),
        server=None if use.server is None else f"{use.server.name} {use.server.version}".strip(),
        seconds=(use.ended - use.started).total_seconds(),
    )


def _visible(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates."""
    return storable(text).value


def _time(moment: datetime) -> str:
    """Format a time in the canonical form of ``xsd:dateTime``, as engines return it.

    >>> [_time(datetime.fromisoformat(f"2026-01-02T03:04:{s}+00:00")) for s in ("10", "05.102030")]
    ['2026-01-02T03:04:10Z', '2026-01-02T03:04:05.10203Z']
    """
    return _ZEROS.sub(r"\1", moment.isoformat()).replace("+00:00", "Z")


def _call(call: Call) -> str:
    """Describe a model call in one line: times, tokens, finish reason, outcome and error."""
    parts = [f"called {_time(call.started)}, ended {_time(call.ended)}"]
    outcome = call.failure
    if call.reply is not None:
        usage, outcome = call.reply.usage, call.reply.outcome
        if usage.input is not None:
            parts.append(f"tokens in {usage.input}")
        if usage.output is not None:
            parts.append(f"out {usage.output}")
        if call.reply.finish_reason is not None:
            parts.append(f"finished: {call.reply.finish_reason}")
    if outcome is not None:
        parts.append(outcome.value)
    if call.error is not None:
        parts.append(call.error)
    return "; ".join(parts)


def _verdicts(store: Store, dialogue: str, wanted: str | None) -> tuple[VerdictView, ...]:
    """Read the verdicts, pass by pass: those on answers first, then that on the whole."""
    facts = Facts()
    for row in queries.run(store, "dialogue-infos", dialogue=dialogue, **{"pass": wanted}):
        facts[row["evaluation"].value] = {KGB.infos: row["infos"].value}
    first: dict[str, Any] = {}
    scores: dict[str, dict[str, float]] = {}
    names: dict[str, str] = {}
    for row in queries.run(store, "dialogue-scores", dialogue=dialogue, **{"pass": wanted}):
        of_evaluation = scores.setdefault(row["evaluation"].value, {})
        first.setdefault(row["evaluation"].value, row)
        if row["value"] is not None:
            names[row["metric"].value] = row["name"].value
            of_evaluation[row["metric"].value] = float(row["value"].value)
    views = []
    for iri, row in first.items():
        said = facts.setdefault(iri, {})
        said |= {name: row[key].value for key, name in _COLUMNS.items() if row[key] is not None}
        verdict = evaluation(facts, iri, scores[iri])
        by = f"{row['kind'].value}, {row['pass'].value.removeprefix(BASE)}"
        scope = "whole dialogue" if verdict.round is None else f"answer {verdict.round}"
        title = f"verdict on {scope} ({by})"
        round_ = float("inf") if verdict.round is None else verdict.round
        order = (row["started"].value, row["pass"].value, round_)
        views.append((order, verdict_view(verdict, title, names)))
    return tuple(view for _, view in sorted(views, key=lambda pair: pair[0]))


def verdict_view(
    verdict: Evaluation,
    title: str,
    names: Mapping[str, str],
    format_info: Callable[[str], str] = str,
) -> VerdictView:
    """Present an evaluation.

    ``names`` are those of metrics, by IRI; ``format_info`` converts the value of an info to the
    text shown.
    """
    return VerdictView(
        title=title,
        evaluation=verdict.iri,
        round=verdict.round,
        outcome=verdict.outcome.value,
        scores=tuple(sorted((names[metric], value) for metric, value in verdict.scores.items())),
        infos=tuple(
            (name, format_info(value if isinstance(value, str) else json.dumps(value)))
            for name, value in sorted(verdict.infos.items())
        ),
    )
