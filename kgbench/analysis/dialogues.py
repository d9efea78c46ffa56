# SPDX-License-Identifier: Apache-2.0
"""Presents one dialogue to readers: prompts, answers, verdicts and provenance.

``kgbench show``, pages and publications show the same views of what
:mod:`kgbench.record.dialogues` reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.model import Call, Turn
from kgbench.rdf import storable
from kgbench.record.dialogues import StoredDialogues
from kgbench.record.schema import disclosed
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo
from kgbench.store.protocol import Store
from kgbench.tool_calls import TOOL_RESULTS, ToolUse
from kgbench.tools import wording
from kgbench.vocab import BASE, KGB, PROV, RDFS, SKOS

_BRIEF = 100  # characters
_MILLISECOND = 0.001  # seconds
_ZEROS = re.compile(r"(\.[0-9]*[1-9])0+(?![0-9])")  # at the end of a fraction of a second


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
            values = wording.read_arguments(self.arguments)
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
    found = read(store, dialogue)
    metrics = catalogue.metrics(store)

    def named(of_pass: str) -> str:
        return f"{found.value(of_pass, KGB.passKind)}, {of_pass.removeprefix(BASE)}"

    return DialogueView(
        iri=dialogue,
        facts=tuple(_facts(found, dialogue)),
        rounds=rounds(found, dialogue),
        verdicts=tuple(
            verdict(found, iri, metrics, named(of_pass))
            for iri in found.evaluations[dialogue]
            for of_pass in found.iris(iri, PROV.wasGeneratedBy)
            if evaluation_pass in (None, of_pass)
        ),
    )


def read(store: Store, dialogue: str) -> StoredDialogues:
    """Look up one dialogue with all evaluations.

    Raises :class:`~kgbench.errors.QueryError` if the store holds no such dialogue.
    """
    found = StoredDialogues(store, [dialogue])
    if dialogue not in found.parts:
        raise QueryError(f"{store.location} holds no dialogue <{dialogue}>")
    found.find_evaluations()
    return found


def _facts(found: StoredDialogues, dialogue: str) -> Iterator[tuple[str, str | None]]:
    run = found.run(dialogue)
    found.describe([run])
    label, short = found.value(run, RDFS.label), run.removeprefix(BASE)
    yield "run", f"{short} ({label})" if label else short
    for name in ("model", "task", "suite", "case"):
        value = found.value(dialogue, KGB[name])
        yield name, None if value is None else value.removeprefix(BASE)
    yield "iteration", found.value(dialogue, KGB.iteration)
    yield "started", found.value(dialogue, PROV.startedAtTime)
    yield "ended", found.value(dialogue, PROV.endedAtTime) or "not complete"
    agent = found.value(run, PROV.wasAssociatedWith)
    yield "software", None if agent is None else agent.removeprefix(BASE)
    yield "graph", found.graph(dialogue).removeprefix(BASE)


def rounds(found: StoredDialogues, dialogue: str) -> tuple[RoundView, ...]:
    """Present the rounds of a dialogue."""
    return tuple(_round(k, turn) for k, turn in found.turns(dialogue).items())


def _round(k: int, turn: Turn) -> RoundView:
    reply = turn.calls[-1].reply if turn.calls else None
    answer = None if reply is None else storable(reply.text)
    thoughts = None if reply is None else disclosed(reply.reasoning)
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


def verdict(
    found: StoredDialogues,
    iri: str,
    metrics: Mapping[str, MetricInfo],
    by: str,
    format_info: Callable[[str], str] = str,
) -> VerdictView:
    """Present an evaluation (IRI); ``metrics`` are those of task classes, by IRI.

    ``by`` names its pass; ``format_info`` converts the value of an info to the text shown.
    """
    said = found.evaluation(iri)
    scope = "the whole dialogue" if said.round is None else f"answer {said.round}"
    names: dict[str, str | None] = {m: metrics[m].name for m in said.scores if m in metrics}
    others = [m for m in said.scores if m not in metrics]  # of comparison policies
    found.describe(others)
    names |= {m: found.value(m, SKOS.notation) for m in others}
    scores = ((names[m], value) for m, value in said.scores.items())
    return VerdictView(
        title=f"verdict on {scope} ({by})",
        evaluation=iri,
        round=said.round,
        outcome=said.outcome.value,
        scores=tuple(sorted((name, value) for name, value in scores if name is not None)),
        infos=tuple(
            (name, format_info(value if isinstance(value, str) else json.dumps(value)))
            for name, value in sorted(said.infos.items())
        ),
    )
