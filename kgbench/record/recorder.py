# SPDX-License-Identifier: Apache-2.0
"""Writes runs, passes, dialogues, turns and tool calls as triples."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kgbench import rdf
from kgbench.model import Call, Case, Dialogue, Evaluation, ModelSetup, Outcome, Plan, Task
from kgbench.rdf import canonical_json, digest, storable
from kgbench.record import schema
from kgbench.record.accounts import SessionPrice
from kgbench.record.evaluations import evaluation_triples, verdict_triples
from kgbench.store import declared
from kgbench.store.iris import Iris, slug
from kgbench.store.protocol import Block
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolServer, ToolUse
from kgbench.vocab import KGB, RDF


def registry_entry(graph: str, describes: str) -> list[str]:
    """Return the registry entry of a content graph; the store itself adds the change stamp."""
    return [
        f"<{graph}> <{RDF.type}> <{KGB.ResultGraph}> .",
        f"<{graph}> <{KGB.describes}> <{describes}> .",
    ]


def task_entry(iris: Iris, task: Task) -> list[str]:
    """Return the entry of a parametrised task: label, class and parameters.

    If another package declares the class, its declaration is included, because readers of the store
    may not have that package.
    """
    of_class = iris.mint("taskClass", task_class=task.task_class, version=task.version)
    size = task.parameters.get("size")
    is_size = type(size) is int and size > 0  # published parameters may be anything
    lines = schema.of("Task").triples(
        task.iri, task, task_class=of_class, problem_size=size if is_size else None
    )
    declaration = catalogue.foreign_declaration(task.task_class, task.version)
    return lines if declaration is None else lines + declared.foreign(declaration, iris)


def case_entry(iris: Iris, case: Case, version: str) -> list[str]:
    """Return the entry of a case with its data, which judging it again needs."""
    of_class = iris.mint("taskClass", task_class=case.task_class, version=version)
    suite = iris.mint("suite", suite=case.suite)
    return schema.of("Case").triples(case.iri, case, suite=suite, task_classes=[of_class])


def model_entry(model: ModelSetup) -> list[str]:
    """Return the entry of a model, as a software agent."""
    name = rdf.iri(model.iri).strip("<>")
    lines = schema.of("Model").triples(
        name,
        model,
        connector=model.connector or None,
        sampling={**model.options, **model.sampling} or None,
        file=model.file or None,
    )
    return [*lines, f"<{name}> <{RDF.type}> <{KGB.System}> ."] if model.is_system else lines


def software_entry(
    iri: str,
    name: str,
    version: str,
    *,
    commit: str | None = None,
    dirty: bool | None = None,
    packages: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the entry of a piece of software, with the state of its code."""
    return schema.of("Software").triples(
        iri, label=name, version=version, commit=commit, dirty=dirty, packages=packages
    )


DIGEST_SCHEME = 1
SHAPES = "https://w3id.org/kgbench/shapes/configuration"  # the shapes of configurations
JUDGEMENTS = "judgements"  # the suite of dialogues with judges
_REMEMBERED = 4096  # texts not written again; writing one twice would change nothing


_DIGITS = 16  # of a digest, in the IRI of a server


class Recorder:
    """Writes one run and one evaluation pass over it, as blocks for a store."""

    def __init__(self, iris: Iris, run_id: str, pass_id: str) -> None:
        self.iris = iris
        self.run_id = run_id
        self.run = iris.mint("run", run=run_id)
        self.run_graph = iris.mint("runGraph", run=run_id)
        self.evaluation_pass = iris.mint("pass", **{"pass": pass_id})
        self.pass_graph = iris.mint("passGraph", **{"pass": pass_id})
        self._judgements = iris.mint("suite", suite=JUDGEMENTS)
        self._texts: OrderedDict[str, None] = OrderedDict()

    # --- IRIs -----------------------------------------------------------------------------

    def execution_iri(self, model: str, label: str) -> str:
        """Return the IRI of the task execution of a model (id or label) and a task label."""
        return self.iris.mint("execution", run=self.run_id, model=slug(model), label=slug(label))

    def dialogue_iri(
        self, execution: str, iteration: int, planned: str, again: int = 0, *, digits: int = 8
    ) -> str:
        """Return the IRI of a dialogue of a task execution (IRI).

        ``planned`` is the digest of its plan; ``again`` counts earlier, invalidated dialogues of
        the plan. ``digits`` of the digest distinguish dialogues of one iteration; eight are enough
        for few.
        """
        number = f".{again}" if again else ""
        return f"{execution}/{iteration}-{planned[:digits]}{number}"

    def evaluation_iri(self, dialogue: str, round_: int | None) -> str:
        """Return the IRI of the evaluation of an answer, or (without round) of a dialogue."""
        path = dialogue.removeprefix(self.run).lstrip("/")
        return f"{self.evaluation_pass}/{path}{'' if round_ is None else f'/{round_}'}"

    # --- blocks ---------------------------------------------------------------------------

    def run_blocks(
        self,
        *,
        label: str,
        suite: str,
        started: datetime,
        ended: datetime | None = None,
        agent: str | None = None,
        source: Mapping[str, str] | None = None,
    ) -> list[Block]:
        """Return the run and its registry entry.

        ``source`` has the ``name`` and ``digest`` of an imported file.
        """
        named = {} if source is None else source
        lines = schema.of("Run").triples(
            self.run,
            label=label,
            suite=suite,
            started=started,
            ended=ended,
            agent=agent,
            source=named.get("name"),
            source_digest=named.get("digest"),
        )
        entry = registry_entry(self.run_graph, self.run)
        return [Block(self.run_graph, lines), Block(self.iris.catalogue, entry)]

    def pass_blocks(
        self,
        *,
        kind: str,
        started: datetime,
        agent: str,
        engine: str | None = None,
        ended: datetime | None = None,
    ) -> list[Block]:
        """Return the evaluation pass and its registry entry.

        ``kind`` is that of :class:`~kgbench.record.reading.PassInfo`.
        """
        lines = schema.of("EvaluationPass").triples(
            self.evaluation_pass,
            kind=kind,
            run=self.run,
            started=started,
            ended=ended,
            agent=agent,
            engine=engine,
        )
        entry = registry_entry(self.pass_graph, self.evaluation_pass)
        return [Block(self.pass_graph, lines), Block(self.iris.catalogue, entry)]

    def pass_facts(self, **facts: Any) -> Block:
        """Record more about the pass.

        These are the ``endpoints`` (URLs) that ran queries, the comparison ``policy`` (IRI), the
        runs (IRIs) whose dialogues are ``judged``, the ``reviewer`` and the ``variants``.
        """
        lines = schema.of("EvaluationPass").facts(self.evaluation_pass, **facts)
        return Block(self.pass_graph, lines)

    def pass_metrics(self, earlier: Mapping[str, str]) -> Block:
        """Record which ``earlier`` metric each metric (IRI) of the pass supersedes."""
        return Block(
            self.pass_graph,
            [f"<{metric}> <{KGB.supersedes}> <{before}> ." for metric, before in earlier.items()],
        )

    def session_start(
        self, number: int, started: datetime, agent: str, plan: Plan, planned_dialogues: int
    ) -> list[str]:
        """Return a session of the run: its agent, start, configuration and planned dialogues."""
        planned = digest(plan.source_ttl)
        used = self.iris.mint("configuration", run=self.run_id, digest=planned[:16])
        session = f"{self.run}/session/{number}"
        association = f"{session}#association"
        return [
            *schema.of("Session").triples(
                session,
                run=self.run,
                started=started,
                agent=agent,
                configuration=used,
                association=association,
                planned_dialogues=planned_dialogues,
            ),
            *schema.of("SessionAssociation").triples(association, agent=agent, configuration=used),
            *schema.of("Configuration").triples(
                used, text=plan.source_ttl, conforms_to=SHAPES, digest=planned
            ),
        ]

    def session_price(self, number: int, paid: SessionPrice) -> list[str]:
        """Return the price per token that a session uses for a model."""
        price = f"{self.run}/price/{digest(canonical_json(list(paid)))[:16]}"
        of_session = schema.of("Session").facts(f"{self.run}/session/{number}", prices=[price])
        return of_session + schema.of("Price").triples(price, paid)

    def session_end(self, number: int, ended: datetime) -> str:
        """Return the end of a session that was not interrupted."""
        (line,) = schema.of("Session").facts(f"{self.run}/session/{number}", ended=ended)
        return line

    def execution_triples(self, execution: str, model: str, task: str) -> list[str]:
        """Return the execution of one task label by one model."""
        return schema.of("TaskExecution").triples(
            execution, run=self.run, agent=model, model=model, task=task
        )

    def dialogue_start(self, dialogue: Dialogue, started: datetime) -> list[str]:
        """Return the start of a dialogue, with its model, task, suite, case and iteration."""
        return schema.of("Dialogue").triples(
            dialogue.iri,
            dialogue,
            execution=dialogue.iri.rpartition("/")[0],
            digest_scheme=DIGEST_SCHEME,
            started=started,
            ended=None,
        )

    def dialogue_end(self, dialogue: Dialogue, ended: datetime) -> str:
        """Return the end of a dialogue, which makes it complete."""
        (line,) = schema.of("Dialogue").facts(dialogue.iri, ended=ended)
        return line

    def turn(self, dialogue: Dialogue, k: int, *, calls_before: int = 0) -> list[str]:
        """Return prompt, calls and answer of turn ``k``; ``calls_before`` were recorded earlier."""
        turn, base = dialogue.turns[k], f"{dialogue.iri}/{k}"
        lines = schema.of("Prompt").triples(
            f"{base}/prompt",
            turn,
            round=k,
            before=dialogue.case if k == 0 else f"{dialogue.iri}/{k - 1}/answer",
            texts=self._text,
        )
        number = calls_before - 1
        for number, call in enumerate(turn.calls, calls_before):
            lines += self._call(dialogue, k, number, call)
        if turn.calls and turn.calls[-1].reply is not None:
            lines += self._answer(base, k, number, turn.calls[-1])
        return lines + self.tool_uses(dialogue, k, number, turn.uses)

    def tool_uses(
        self, dialogue: Dialogue, k: int, number: int, uses: Sequence[ToolUse]
    ) -> list[str]:
        """Return the tool calls in answer ``k``, which model call ``number`` of the turn gave."""
        return triples(dialogue.iri, k, number, uses, self._text, iris=self.iris)

    def evaluation_block(self, evaluation: Evaluation, dialogue: Dialogue) -> Block:
        """Return an evaluation of this pass, with the verdict if it evaluates a judge's answer."""
        lines = evaluation_triples(evaluation, dialogue, self.evaluation_pass)
        if dialogue.suite == self._judgements:
            lines += verdict_triples(evaluation, dialogue, self.evaluation_pass)
        return Block(self.pass_graph, lines)

    # --- parts ----------------------------------------------------------------------------

    def _answer(self, base: str, k: int, number: int, call: Call) -> list[str]:
        return schema.of("Answer").triples(
            f"{base}/answer",
            call.reply,
            round=k,
            call=f"{base}/call/{number}",
            sources=[f"{base}/prompt", *([] if call.reused is None else [call.reused])],
            texts=self._text,
        )

    def _call(self, dialogue: Dialogue, k: int, number: int, call: Call) -> list[str]:
        about: list[object] = [call]
        outcome = call.failure
        if call.reply is not None:
            about += [call.reply.usage, call.reply]
            outcome = None if call.reply.outcome is Outcome.SCORED else call.reply.outcome
        return schema.of("ModelCall").triples(
            f"{dialogue.iri}/{k}/call/{number}",
            *about,
            dialogue=dialogue.iri,
            round=k,
            prompt=f"{dialogue.iri}/{k}/prompt",
            agent=dialogue.model,
            outcome=outcome,
            error=None if call.failure is None else call.error or "",
        )

    def _text(self, value: str, lines: list[str]) -> str:
        """Return the IRI of a text; add its description to ``lines`` unless written recently."""
        name = digest(value)
        iri = f"{self.run}/text/{name}"
        if name in self._texts:
            self._texts.move_to_end(name)
            return iri
        self._texts[name] = None
        if len(self._texts) > _REMEMBERED:
            self._texts.popitem(last=False)
        lines += schema.of("Text").triples(iri, storable(value))
        return iri


def triples(
    dialogue: str,
    k: int,
    number: int,
    uses: Sequence[ToolUse],
    texts: schema.Texts,
    *,
    iris: Iris,
) -> list[str]:
    """Return the tool calls in answer ``k`` of a dialogue (IRI), given by model call ``number``."""
    lines: list[str] = []
    for index, use in enumerate(uses):
        iri = f"{dialogue}/{k}/tool/{index}"
        lines += schema.of("ToolCall").triples(
            iri,
            use.call,
            use,
            dialogue=dialogue,
            round=k,
            index=index,
            model_call=f"{dialogue}/{k}/call/{number}",
            outcome=use.result.outcome,
            fault=use.result.fault,
            server=None if use.server is None else _iri(use.server, iris),
            texts=texts,
        )
        lines += schema.of("ToolResult").triples(f"{iri}/result", use.result, call=iri, texts=texts)
        if use.server is not None:
            label = f"{use.server.name} {use.server.version}".strip()
            server = _iri(use.server, iris)
            lines += schema.of("ToolServer").triples(server, use.server, label=label)
    return lines


def _iri(server: ToolServer, iris: Iris) -> str:
    """Return the IRI of the server that gave the result of a call."""
    name, version = (storable(text).value for text in (server.name, server.version))
    known = digest(canonical_json([name, version, server.digest]))[:_DIGITS]
    return iris.mint("toolServer", name=slug(name), digest=known)
