# SPDX-License-Identifier: Apache-2.0
"""The things that are measured, and what comes out, as plain values: nothing here reads anything.

What crosses a process boundary (:class:`Case`, :class:`Verdict`) holds JSON-shaped data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from kgbench.outcomes import Outcome as Outcome  # noqa: PLC0414 - others have it from here
from kgbench.tool_calls import TOOL_RESULTS, Tool, ToolUse

Json: TypeAlias = Any  # None, bool, int, float, str, and lists and str-keyed dicts of these


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter of a task class, with its default, allowed values and inclusive limits.

    ``kind`` is ``str``, ``int``, ``float`` or ``bool``; ``unit`` is what a number counts.
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
    """A declared metric; its formula reaches ``minimum`` to ``maximum`` (``None``: unbounded).

    ``aggregation`` is ``last``, ``mean``, ``max`` or ``meanExt`` for a metric of a whole dialogue,
    ``base`` then the IRI of the metric of answers that it aggregates, and ``same`` the IRI of the
    metric of a comparison policy that has the same values.
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


@dataclass(frozen=True, slots=True)
class TaskClass:
    """A task class as ``tasks/NAME/task.ttl`` declares it.

    ``metrics`` maps short names to metrics; ``max_rounds`` is the greatest number of answers in a
    dialogue; ``main_metric`` is the short name of the most important score; ``tasks`` are the
    labelled parametrisations it ships with; ``former_names`` are names it was recorded under.
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
    """One instance of a task: everything that prompt and judge need.

    Identity is suite, task class, parameters and data (``uid`` where it has one), never the prompt.
    ``digest`` is the SHA-256 (hex) of class, parameters and data as canonical JSON.
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
    """A model as a plan names it: the connector, the model's id there, and how it is asked.

    ``spec`` is the written form (``openai:gpt-4o@http://host/v1``) without keys; ``sampling`` holds
    only what is passed to the provider (``temperature``, ``max_tokens``, ``seed`` ...).
    """

    iri: str
    label: str
    connector: str
    model_id: str
    spec: str
    base_url: str | None = None
    sampling: Mapping[str, Json] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    is_system: bool = False  # behind a question-answering protocol


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated configuration: what to run. ``source_ttl`` is the configuration itself as Turtle.

    ``iterations`` are dialogues per task label, cases taken in turn; with
    ``iterations_per_case`` they are dialogues per case instead. ``requests_per_minute`` and
    ``tokens_per_minute`` hold for each model, ``max_cost`` (USD) and ``max_tokens`` for the whole
    run. ``prices`` is a price table of one's own. ``batch``: ask through the providers' batch
    interfaces. ``tool_protocol`` says how tools are offered (``native`` or ``text``); ``None``:
    as each connector can. ``passed_over`` says, a line each, what the configuration selects but
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


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the provider reports them; ``None`` where it does not."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a connector is asked: the messages so far, ending with a prompt.

    ``messages`` alternate prompt, answer, prompt ...; ``case``, ``seed`` (a digest of dialogue and
    round) and ``iteration`` serve models without a provider; ``tools`` are for native tool calling.
    ``states`` are those of the replies so far, one for each answer (see :class:`Reply`).
    """

    messages: tuple[str, ...]
    case: Case
    seed: str
    iteration: int = 0
    tools: tuple[Tool, ...] = ()
    states: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a provider answered. ``outcome`` is set where the provider says it (refused, truncated).

    ``extracted`` is the answer where an ``extraction`` step (IRI) separated it from the rest.
    ``state`` is the message as JSON in the provider's own form, where the provider wants it back
    with the results of tools: for signatures of thoughts, or encrypted reasoning.
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

    @property
    def answer(self) -> str:
        """What is judged, and what the model is told that it said."""
        return self.text if self.extracted is None else self.extracted


@dataclass(frozen=True, slots=True)
class Call:
    """An attempt to get an answer: when, and the reply or the failure (outcome, message).

    ``reused`` is the IRI of the recorded answer that the reply is, where nobody was asked,
    ``batch`` that of the batch in which it was asked, whose times say nothing of latency.
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
    """A prompt and what became of it; the last call of an answered turn has the reply.

    ``feedback`` is the kind of feedback that the prompt gives (``None`` for a first prompt),
    ``uses`` are the tool calls in the answer with their results.
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

    ``digest`` identifies the planned dialogue, or the record that was imported. ``tool_protocol``
    says how tools were offered, where there were any.
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
        return tuple(turn.answer for turn in self.turns if turn.answer is not None)

    @property
    def judged(self) -> tuple[int, ...]:
        """The rounds whose answers are judged: all but those that tools have replied to."""
        replied = {k - 1 for k, turn in enumerate(self.turns) if turn.feedback == TOOL_RESULTS}
        return tuple(k for k in range(len(self.answers)) if k not in replied)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of the last answer of a dialogue.

    ``scores`` are by short metric name; a score that the formula leaves undefined is absent.
    ``next_prompt`` is the feedback to send, or ``None`` when the dialogue is over.
    ``feedback`` names the kind of feedback (``syntax``, ``content``, ``format``, ``empty-result``).
    """

    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    outcome: Outcome = Outcome.SCORED
    next_prompt: str | None = None
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores by metric IRI: of one answer or, where ``round`` is ``None``, of a whole dialogue."""

    iri: str
    dialogue: str
    round: int | None
    outcome: Outcome
    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    revises: str | None = None
    decimals: int | None = None  # to which they were rounded when they were published


@dataclass(frozen=True, slots=True)
class ParsedGraph:
    """An RDF document after parsing: N-Triples lines (without newline), or the parser's message.

    ``triples`` is ``None`` exactly when the document does not parse; ``error`` then says why.
    """

    triples: tuple[str, ...] | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a SELECT, the truth value of an ASK, or why there is neither.

    Each row holds one N-Triples term or ``None`` per variable, in the order of the result.
    ``boolean`` is set for an ASK alone. ``expired`` is true when the limit was hit; ``refused``
    when the query is of a kind that is never executed (``SERVICE`` ...).
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
        """The syntax error of a SPARQL query or update; ``None`` when the grammar accepts it."""

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run an update on a copy of ``graph``, or a CONSTRUCT: rows of change, triple, graph."""

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT over ``graph`` (Turtle text, or the name of an installed graph)."""

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT or an ASK as :meth:`select` does, with casts such as ``xsd:int`` known."""

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run what :meth:`results` runs, or a CONSTRUCT: its triples are rows of three terms."""


class TaskModule(Protocol):
    """A task class in Python, found by entry points ``kgbench.tasks``; all functions are pure."""

    NAME: str

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """The cases of ``task``, at most ``count``; generated ones are seeded by iteration."""

    def prompt(self, case: Case) -> str:
        """The first prompt about ``case``."""

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge the last of ``answers``; the earlier ones are given for context."""

    def reference(self, case: Case) -> str:
        """An answer that reaches the best score (what ``baseline:oracle`` says)."""
