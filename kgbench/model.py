# SPDX-License-Identifier: Apache-2.0
"""Tasks, models, plans, dialogues and evaluations as plain values; protocols of task modules.

Nothing here reads a file or a store. Values that cross a process boundary (:class:`Case`,
:class:`Verdict`) hold JSON-shaped data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from kgbench.tool_calls import TOOL_RESULTS, Tool, ToolUse
from kgbench.vocab import Outcome as Outcome  # noqa: PLC0414 - re-exported

Json: TypeAlias = Any  # None, bool, int, float, str, and lists and str-keyed dicts of these
TOLERANCE = 1e-9  # scores that differ by no more are equal


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter of a task class, with its default, allowed values and inclusive limits.

    ``kind`` is ``str``, ``int``, ``float`` or ``bool``; ``unit`` is the unit of a number.
    """

    name: str
    kind: type
    default: Json
    allowed: tuple[Json, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A declared metric, with values from ``minimum`` to ``maximum`` (``None``: unbounded).

    A metric of whole dialogues has an ``aggregation`` (``last``, ``mean``, ``max`` or ``meanExt``)
    and, as ``base``, the IRI of the answer metric that it aggregates. ``same`` is the IRI of a
    comparison policy's metric with the same values, ``agreement_of`` that of a metric of errors.
    """

    iri: str
    name: str
    version: str
    higher_is_better: bool
    minimum: float | None
    maximum: float | None
    aggregation: str | None = None
    base: str | None = None
    same: str | None = None
    agreement_of: str | None = None


@dataclass(frozen=True, slots=True)
class TaskClass:
    """A task class as ``tasks/NAME/task.ttl`` declares it.

    ``metrics`` maps short names to metrics; ``max_rounds`` is the greatest number of answers in a
    dialogue; ``main_metric`` is the short name of the most important score; ``tasks`` are the
    labelled parametrisations it ships with; ``former_names`` are its names in older records.
    """

    iri: str
    name: str
    version: str
    metrics: Mapping[str, Metric]
    parameters: Mapping[str, Parameter]
    max_rounds: int
    main_metric: str
    tasks: tuple[Task, ...] = ()
    former_names: tuple[str, ...] = ()

    @property
    def answer_metrics(self) -> dict[str, Metric]:
        """The metrics of single answers, by short name."""
        return {name: m for name, m in self.metrics.items() if m.aggregation is None}


@dataclass(frozen=True, slots=True)
class Task:
    """A task class with values for all its parameters, under a label."""

    iri: str
    label: str
    task_class: str
    version: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Case:
    """One instance of a task, with all data that its prompt and its judge need.

    Suite, task class, parameters, data and ``uid`` (if it has one) identify it; the prompt
    does not. ``digest`` is the SHA-256 (hex) of class, parameters and data as canonical JSON.
    """

    iri: str
    suite: str
    task_class: str
    parameters: Mapping[str, Json]
    data: Mapping[str, Json]
    digest: str
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """A model in a plan: its connector, its id at the provider, and the settings of requests.

    ``spec`` is the written form (``openai:gpt-4o@http://host/v1``) without keys; ``sampling`` holds
    only settings that are passed to the provider (``temperature``, ``max_tokens``, ``seed`` ...).
    A model on this machine has a ``path``, which is never recorded, and facts about its ``file``.
    """

    iri: str
    label: str
    connector: str
    model_id: str
    spec: str
    base_url: str | None = None
    sampling: Mapping[str, Json] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    is_system: bool = False  # a question-answering system, not a language model
    path: str | None = None
    file: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated configuration of a run; ``source_ttl`` is the configuration itself as Turtle.

    ``iterations`` is the number of dialogues per task label, which take the cases in turn; with
    ``iterations_per_case`` it is the number per case. ``requests_per_minute`` and
    ``tokens_per_minute`` limit each model, ``max_cost`` (USD) and ``max_tokens`` the whole run.
    Timeouts are in seconds. ``prices`` is the user's own price table. With ``batch``, requests go
    through the providers' batch interfaces. ``tool_protocol`` is ``native`` or ``text``; ``None``
    leaves it to the connector. ``passed_over`` lists, a line each, selected tasks and models that
    this installation cannot run; it is not part of the plan's identity.
    """

    name: str
    suite: str
    tasks: tuple[Task, ...]
    models: tuple[ModelSetup, ...]
    iterations: int
    iterations_per_case: bool = False
    concurrency: int = 16
    call_timeout: float = 300.0
    judge_timeout: float = 30.0
    max_retries: int = 5
    seed: int = 0
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    prices: Path | None = None
    batch: bool = False
    tool_protocol: str | None = None
    source_ttl: str = ""
    passed_over: tuple[str, ...] = field(default=(), compare=False)

    @property
    def classes(self) -> frozenset[str]:
        """The names of the task classes of all tasks."""
        return frozenset(task.task_class for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the provider reports them; ``None`` for a count that it does not report."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None

    @property
    def counted(self) -> bool:
        """Whether the tokens that are charged are known, read and written."""
        return self.input is not None and self.output is not None


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a connector: the messages so far, of which the last is a prompt.

    ``messages`` alternate prompt, answer, prompt ...; ``case``, ``seed`` (a digest of dialogue and
    round) and ``iteration`` serve models without a provider; ``tools`` are for native tool calling.
    ``states`` are those of the replies so far; ``at_most`` lowers an answer's limit of tokens.
    """

    messages: tuple[str, ...]
    case: Case
    seed: str
    iteration: int = 0
    tools: tuple[Tool, ...] = ()
    states: tuple[str | None, ...] = ()
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's response; ``outcome`` is set if the provider reports one (refused, truncated).

    ``extracted`` is the answer if an ``extraction`` step (IRI) separated it from the other text.
    ``state`` is the message as JSON in the provider's own form, kept if the provider needs it back
    with tool results. ``reading`` and ``writing`` are tokens per second, if the server tells them.
    """

    text: str
    usage: Usage = Usage()
    model: str | None = None
    finish_reason: str | None = None
    request_id: str | None = None
    reasoning: str | None = None
    fingerprint: str | None = None
    outcome: Outcome | None = None
    extracted: str | None = None
    extraction: str | None = None
    state: str | None = None
    reading: float | None = None
    writing: float | None = None

    @property
    def answer(self) -> str:
        """The text that is judged, and that later requests repeat as the model's message."""
        return self.text if self.extracted is None else self.extracted


@dataclass(frozen=True, slots=True)
class Call:
    """An attempt to get an answer: its times, and the reply or the failure (outcome, message).

    ``reused`` is the IRI of a recorded answer that was taken instead of sending a request.
    ``batch`` is the IRI of the batch with the request, whose times say nothing about latency.
    """

    started: datetime
    ended: datetime
    reply: Reply | None = None
    failure: Outcome | None = None
    error: str | None = None
    retries: int = 0
    reused: str | None = None
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and the calls made for it; the last call of an answered turn has the reply.

    ``feedback`` is the kind of feedback in the prompt (``None`` for a first prompt); ``uses`` are
    the tool calls in the answer with their results.
    """

    prompt: str
    calls: tuple[Call, ...] = ()
    feedback: str | None = None
    uses: tuple[ToolUse, ...] = ()

    @property
    def answer(self) -> str | None:
        """The answer in the reply, or ``None`` while there is none."""
        reply = self.calls[-1].reply if self.calls else None
        return None if reply is None else reply.answer


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation about one case. ``iteration`` counts per task label and model, from 0.

    ``digest`` identifies it as planned or imported, ``tool_protocol`` is how tools were offered.
    """

    iri: str
    run: str
    model: str
    task: str
    suite: str
    case: str
    iteration: int
    digest: str
    turns: tuple[Turn, ...] = ()
    started: datetime | None = None
    ended: datetime | None = None
    tool_protocol: str | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers so far, in order."""
        return tuple(answer for turn in self.turns if (answer := turn.answer) is not None)

    @property
    def judged(self) -> tuple[int, ...]:
        """Rounds (from 0) that are judged: those whose answers are not followed by tool results."""
        replied = {k - 1 for k, turn in enumerate(self.turns) if turn.feedback == TOOL_RESULTS}
        return tuple(k for k in range(len(self.answers)) if k not in replied)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's result for the last answer of a dialogue.

    ``scores`` maps short metric names to values; a score that its formula leaves undefined is
    absent. ``infos`` are further details, JSON-shaped. ``next_prompt`` is the feedback to send,
    ``None`` at the end of the dialogue, and ``feedback`` its kind, such as ``syntax``.
    """

    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    outcome: Outcome = Outcome.SCORED
    next_prompt: str | None = None
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores by metric IRI: of one answer or, if ``round`` is ``None``, of a whole dialogue."""

    iri: str
    dialogue: str
    round: int | None
    outcome: Outcome
    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    revises: str | None = None
    decimals: int | None = None  # decimal places of published, rounded scores


@dataclass(frozen=True, slots=True)
class ParsedGraph:
    """The N-Triples lines of an RDF document (without newline), or the error of its parser."""

    triples: tuple[str, ...] | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a SELECT, the truth value of an ASK, or the error of a query that failed.

    Each row holds one N-Triples term or ``None`` per variable, in the order of the result.
    ``boolean`` is set only for an ASK. ``expired`` is true if the query hit a limit, ``refused`` if
    it is of a kind that is never executed (``SERVICE`` ...).
    """

    variables: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    error: str | None = None
    expired: bool = False
    refused: bool = False
    boolean: bool | None = None


class Executor(Protocol):
    """Parses documents and runs queries for judges and tools, under limits of the caller."""

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Parse ``text``; ``rdf_format`` is ``turtle``, ``json-ld``, ``xml`` or ``ntriples``."""

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """Return the syntax error of a SPARQL query or update, or ``None`` if it is well-formed."""

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run an update on a copy of ``graph``, or a CONSTRUCT; rows: change, triple, graph."""

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT over ``graph`` (Turtle text, or the name of an installed graph)."""

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT or an ASK as :meth:`select` does, with support for casts (``xsd:int``)."""

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT, an ASK or a CONSTRUCT, whose triples become rows of three terms."""


class TaskModule(Protocol):
    """The code of a task class (:mod:`kgbench.tasks.catalogue` finds it); functions are pure."""

    NAME: str

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return at most ``count`` cases of ``task``, the same ones for the same ``seed``."""

    def prompt(self, case: Case) -> str:
        """Return the first prompt for ``case``."""

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge the last of ``answers``; the earlier ones are context."""

    def reference(self, case: Case) -> str:
        """Return an answer with the best score; ``baseline:oracle`` gives this answer."""
