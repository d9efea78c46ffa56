# SPDX-License-Identifier: Apache-2.0
"""Writes runs, passes, dialogues and turns as triples."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kgbench.model import Call, Dialogue, Evaluation, Outcome, Plan, Reply
from kgbench.rdf import canonical_json, decimal, digest, integer, iri, moment, storable, string
from kgbench.record import terms as t
from kgbench.record import tool_uses
from kgbench.record.accounts import SessionPrice
from kgbench.record.calibrations import calibration_triples
from kgbench.record.entries import registry_entry
from kgbench.record.evaluations import evaluation_triples
from kgbench.record.verdicts import verdict_triples
from kgbench.store.iris import Iris, slug
from kgbench.store.protocol import Block
from kgbench.tool_calls import ToolUse
from kgbench.vocab import XSD

DIGEST_SCHEME = 1
SHAPES = "https://w3id.org/kgbench/shapes/configuration"  # the shapes of configurations
JUDGEMENTS = "judgements"  # the suite of dialogues with judges
_REMEMBERED = 4096  # texts not written again; writing one twice would change nothing


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
        self,
        model: str,
        label: str,
        iteration: int,
        planned: str,
        again: int = 0,
        *,
        digits: int = 8,
    ) -> str:
        """Return the IRI of a dialogue.

        ``planned`` is the digest of its plan; ``again`` counts earlier, invalidated dialogues of
        the plan. ``digits`` of the digest distinguish dialogues of one iteration; eight are enough
        for few.
        """
        number = f".{again}" if again else ""
        return f"{self.execution_iri(model, label)}/{iteration}-{planned[:digits]}{number}"

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
        node = f"<{self.run}>"
        lines = [
            f"{node} {t.TYPE} {t.RUN} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.LABEL} {string(label)} .",
            f"{node} {t.SUITE_P} <{suite}> .",
            f"{node} {t.STARTED} {moment(started)} .",
        ]
        if ended is not None:
            lines.append(f"{node} {t.ENDED} {moment(ended)} .")
        if agent is not None:
            lines.append(f"{node} {t.ASSOCIATED_WITH} <{agent}> .")
        if source is not None:
            lines.append(f"{node} {t.SOURCE} {string(source['name'])} .")
            lines.append(f"{node} {t.SOURCE_DIGEST} {string(source['digest'])} .")
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
        node = f"<{self.evaluation_pass}>"
        lines = [
            f"{node} {t.TYPE} {t.PASS} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.PASS_KIND} {string(kind)} .",
            f"{node} {t.INFORMED_BY} <{self.run}> .",
            f"{node} {t.ASSOCIATED_WITH} <{agent}> .",
            f"{node} {t.STARTED} {moment(started)} .",
        ]
        if engine is not None:
            lines.append(f"{node} {t.ENGINE} {string(engine)} .")
        if ended is not None:
            lines.append(f"{node} {t.ENDED} {moment(ended)} .")
        entry = registry_entry(self.pass_graph, self.evaluation_pass)
        return [Block(self.pass_graph, lines), Block(self.iris.catalogue, entry)]

    def pass_endpoint(self, url: str) -> Block:
        """Record the endpoint that ran the queries of the pass."""
        return Block(self.pass_graph, [f"<{self.evaluation_pass}> {t.CASE_ENDPOINT} <{url}> ."])

    def pass_policy(self, iri: str) -> Block:
        """Record the comparison policy (IRI) of the pass."""
        return Block(self.pass_graph, [f"<{self.evaluation_pass}> {t.COMPARISON_POLICY} <{iri}> ."])

    def pass_judges(self, runs: Iterable[str]) -> Block:
        """Record that judges judge the dialogues of ``runs`` (IRIs) in the pass."""
        node = f"<{self.evaluation_pass}>"
        return Block(self.pass_graph, [f"{node} {t.JUDGES_RUN} {iri(run)} ." for run in runs])

    def pass_metrics(self, earlier: Mapping[str, str]) -> Block:
        """Record which ``earlier`` metric each metric (IRI) of the pass supersedes."""
        return Block(
            self.pass_graph,
            [f"<{metric}> {t.SUPERSEDES} <{before}> ." for metric, before in earlier.items()],
        )

    def session_start(
        self, number: int, started: datetime, agent: str, plan: Plan, planned_dialogues: int
    ) -> list[str]:
        """Return a session of the run: its agent, start, configuration and planned dialogues."""
        planned = digest(plan.source_ttl)
        used = self.iris.mint("configuration", run=self.run_id, digest=planned[:16])
        node = f"<{self.run}/session/{number}>"
        association = f"<{self.run}/session/{number}#association>"
        return [
            f"{node} {t.TYPE} {t.SESSION} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.PART_OF} <{self.run}> .",
            f"{node} {t.STARTED} {moment(started)} .",
            f"{node} {t.ASSOCIATED_WITH} <{agent}> .",
            f"{node} {t.USED} <{used}> .",
            f"{node} {t.QUALIFIED_ASSOCIATION} {association} .",
            f"{association} {t.TYPE} {t.ASSOCIATION} .",
            f"{association} {t.AGENT_P} <{agent}> .",
            f"{association} {t.HAD_PLAN} <{used}> .",
            f"{node} {t.PLANNED} {integer(planned_dialogues)} .",
            f"<{used}> {t.TYPE} {t.CONFIGURATION} .",
            f"<{used}> {t.TYPE} {t.PLAN} .",
            f"<{used}> {t.TYPE} {t.ENTITY} .",
            f"<{used}> {t.VALUE} {string(plan.source_ttl)} .",
            f"<{used}> {t.CONFORMS_TO} <{SHAPES}> .",
            f"<{used}> {t.DIGEST} {string(planned)} .",
        ]

    def session_price(self, number: int, paid: SessionPrice) -> list[str]:
        """Return the price per token that a session uses for a model."""
        node = f"<{self.run}/price/{digest(canonical_json(list(paid)))[:16]}>"
        return [
            f"<{self.run}/session/{number}> {t.PRICE_P} {node} .",
            f"{node} {t.TYPE} {t.PRICE} .",
            f"{node} {t.MODEL_P} <{paid.model}> .",
            f"{node} {t.INPUT_PRICE} {decimal(paid.input)} .",
            f"{node} {t.OUTPUT_PRICE} {decimal(paid.output)} .",
            f"{node} {t.CACHED_PRICE} {decimal(paid.cached)} .",
            f"{node} {t.BATCH_FACTOR} {decimal(paid.batch)} .",
            f'{node} {t.DATE} "{paid.date}"^^<{XSD.date}> .',
            f"{node} {t.SOURCE} {iri(paid.source)} .",
        ]

    def session_end(self, number: int, ended: datetime) -> str:
        """Return the end of a session that was not interrupted."""
        return f"<{self.run}/session/{number}> {t.ENDED} {moment(ended)} ."

    def execution_triples(self, execution: str, model: str, task: str) -> list[str]:
        """Return the execution of one task label by one model."""
        node = f"<{execution}>"
        return [
            f"{node} {t.TYPE} {t.EXECUTION} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.PART_OF} <{self.run}> .",
            f"{node} {t.ASSOCIATED_WITH} <{model}> .",
            f"{node} {t.MODEL_P} <{model}> .",
            f"{node} {t.TASK_P} <{task}> .",
        ]

    def dialogue_start(self, dialogue: Dialogue, started: datetime) -> list[str]:
        """Return the start of a dialogue, with its model, task, suite, case and iteration."""
        node = f"<{dialogue.iri}>"
        protocol = dialogue.tool_protocol
        offered = [] if protocol is None else [f"{node} {t.TOOL_PROTOCOL} {string(protocol)} ."]
        return [
            *offered,
            f"{node} {t.TYPE} {t.DIALOGUE} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.PART_OF} <{dialogue.iri.rpartition('/')[0]}> .",
            f"{node} {t.MODEL_P} <{dialogue.model}> .",
            f"{node} {t.TASK_P} <{dialogue.task}> .",
            f"{node} {t.SUITE_P} <{dialogue.suite}> .",
            f"{node} {t.CASE_P} <{dialogue.case}> .",
            f"{node} {t.ITERATION} {integer(dialogue.iteration)} .",
            f"{node} {t.DIGEST} {string(dialogue.digest)} .",
            f"{node} {t.DIGEST_SCHEME} {integer(DIGEST_SCHEME)} .",
            f"{node} {t.STARTED} {moment(started)} .",
        ]

    def dialogue_end(self, dialogue: Dialogue, ended: datetime) -> str:
        """Return the end of a dialogue, which makes it complete."""
        return f"<{dialogue.iri}> {t.ENDED} {moment(ended)} ."

    def turn(self, dialogue: Dialogue, k: int, *, calls_before: int = 0) -> list[str]:
        """Return prompt, calls and answer of turn ``k``; ``calls_before`` were recorded earlier."""
        turn = dialogue.turns[k]
        base = f"{dialogue.iri}/{k}"
        prompt = f"<{base}/prompt>"
        round_ = integer(k)
        before = dialogue.case if k == 0 else f"{dialogue.iri}/{k - 1}/answer"
        lines: list[str] = []
        lines += [
            f"{prompt} {t.TYPE} {t.PROMPT} .",
            f"{prompt} {t.TYPE} {t.ENTITY} .",
            f"{prompt} {t.ROUND} {round_} .",
            f"{prompt} {t.DERIVED_FROM} <{before}> .",
            f"{prompt} {t.TEXT_P} {self._text(turn.prompt, lines)} .",
        ]
        if turn.feedback is not None:
            lines.append(f"{prompt} {t.FEEDBACK} {string(turn.feedback)} .")
        number = calls_before - 1
        for number, call in enumerate(turn.calls, calls_before):
            lines += self._call(dialogue, k, number, call)
        if turn.calls and turn.calls[-1].reply is not None:
            lines += self._answer(base, round_, number, turn.calls[-1])
        return lines + self.tool_uses(dialogue, k, number, turn.uses)

    def tool_uses(
        self, dialogue: Dialogue, k: int, number: int, uses: Sequence[ToolUse]
    ) -> list[str]:
        """Return the tool calls in answer ``k``, which model call ``number`` of the turn gave."""
        return tool_uses.triples(dialogue.iri, k, number, uses, self._text, iris=self.iris)

    def evaluation_block(self, evaluation: Evaluation, dialogue: Dialogue) -> Block:
        """Return an evaluation of this pass, with the verdict if it evaluates a judge's answer."""
        lines = evaluation_triples(evaluation, dialogue, self.evaluation_pass)
        if dialogue.suite == self._judgements:
            calibrated = "calibration" in evaluation.infos
            triples = calibration_triples if calibrated else verdict_triples
            lines += triples(evaluation, dialogue, self.evaluation_pass)
        return Block(self.pass_graph, lines)

    # --- parts ----------------------------------------------------------------------------

    def _answer(self, base: str, round_: str, number: int, call: Call) -> list[str]:
        reply = call.reply
        assert reply is not None
        answer = f"<{base}/answer>"
        lines = [
            f"{answer} {t.TYPE} {t.ANSWER} .",
            f"{answer} {t.TYPE} {t.ENTITY} .",
            f"{answer} {t.ROUND} {round_} .",
            f"{answer} {t.GENERATED_BY} <{base}/call/{number}> .",
            f"{answer} {t.DERIVED_FROM} <{base}/prompt> .",
        ]
        if call.reused is not None:
            lines.append(f"{answer} {t.DERIVED_FROM} <{call.reused}> .")
        lines.append(f"{answer} {t.TEXT_P} {self._text(reply.text, lines)} .")
        if reply.reasoning is not None:
            lines.append(f"{answer} {t.REASONING} {self._text(reply.reasoning, lines)} .")
        if reply.state is not None:
            lines.append(f"{answer} {t.PROVIDER_STATE} {self._text(reply.state, lines)} .")
        if reply.extracted is not None:
            lines.append(f"{answer} {t.EXTRACTED} {self._text(reply.extracted, lines)} .")
            lines.append(f"{answer} {t.EXTRACTION} <{reply.extraction}> .")
        return lines

    def _call(self, dialogue: Dialogue, k: int, number: int, call: Call) -> list[str]:
        node = f"<{dialogue.iri}/{k}/call/{number}>"
        lines = [
            f"{node} {t.TYPE} {t.CALL} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.PART_OF} <{dialogue.iri}> .",
            f"{node} {t.ROUND} {integer(k)} .",
            f"{node} {t.USED} <{dialogue.iri}/{k}/prompt> .",
            f"{node} {t.ASSOCIATED_WITH} <{dialogue.model}> .",
            f"{node} {t.STARTED} {moment(call.started)} .",
            f"{node} {t.ENDED} {moment(call.ended)} .",
        ]
        if call.retries:
            lines.append(f"{node} {t.RETRIES} {integer(call.retries)} .")
        if call.reused is not None:
            lines.append(f"{node} {t.REUSED} <{call.reused}> .")
        if call.batch is not None:
            lines.append(f"{node} {t.BATCH_P} <{call.batch}> .")
        if call.reply is not None:
            lines += _reply_facts(node, call.reply)
        if call.failure is not None:
            lines.append(f"{node} {t.OUTCOME_P} {t.outcome(call.failure)} .")
            lines.append(f"{node} {t.ERROR} {string(storable(call.error or '').value)} .")
        return lines

    def _text(self, value: str, lines: list[str]) -> str:
        """Return the node of a text; add its content to ``lines`` unless written recently."""
        name = digest(value)
        node = f"<{self.run}/text/{name}>"
        if name in self._texts:
            self._texts.move_to_end(name)
            return node
        self._texts[name] = None
        if len(self._texts) > _REMEMBERED:
            self._texts.popitem(last=False)
        stored = storable(value)
        lines += [
            f"{node} {t.TYPE} {t.TEXT} .",
            f"{node} {t.TYPE} {t.ENTITY} .",
            f"{node} {t.VALUE} {string(stored.value)} .",
        ]
        if stored.original is not None:
            lines.append(f"{node} {t.ORIGINAL} {stored.original_literal} .")
        return node


def _reply_facts(node: str, reply: Reply) -> list[str]:
    usage = reply.usage
    counts = (
        (t.INPUT_TOKENS, usage.input),
        (t.OUTPUT_TOKENS, usage.output),
        (t.CACHED_TOKENS, usage.cached),
        (t.REASONING_TOKENS, usage.reasoning),
    )
    words = (
        (t.FINISH_REASON, reply.finish_reason),
        (t.REQUEST_ID, reply.request_id),
        (t.ANSWERING_MODEL, reply.model),
        (t.FINGERPRINT, reply.fingerprint),
    )
    lines = [f"{node} {p} {integer(n)} ." for p, n in counts if n is not None]
    lines += [f"{node} {p} {string(storable(w).value)} ." for p, w in words if w is not None]
    if reply.outcome is not None and reply.outcome is not Outcome.SCORED:
        lines.append(f"{node} {t.OUTCOME_P} {t.outcome(reply.outcome)} .")
    return lines
