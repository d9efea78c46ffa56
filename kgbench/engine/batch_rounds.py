# SPDX-License-Identifier: Apache-2.0
"""Rounds of provider batches: open prompts are collected, answered together, and taken up.

The dialogues of a round are held like any others. Where one lacks an answer, its request is
collected, and the dialogue stays open. The collected requests are submitted, and once their batches
have ended, the open dialogues are held again, with the answers.

A batch is recorded before it is submitted, and as ended once its answers are stored. Sessions fetch
the open batches of earlier ones first. So no request is submitted twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from kgbench import clock
from kgbench.connectors import CallAbandoned
from kgbench.connectors.batches import (
    MOST_CHARACTERS,
    MOST_REQUESTS,
    BatchRequest,
    name,
    open_batches,
)
from kgbench.engine.batch_client import BatchClient, BatchesRefused, BatchNotCreated
from kgbench.engine.calls import RetryPolicy, outcome
from kgbench.engine.run import Run
from kgbench.engine.session import Journal
from kgbench.errors import ModelSpecError, ProviderError, RateLimited
from kgbench.model import Call, ModelSetup, Plan, Reply, Request
from kgbench.rdf import canonical_json, digest
from kgbench.record import batches
from kgbench.record.batches import Batch
from kgbench.record.reading import RunInfo
from kgbench.store.iris import new_id
from kgbench.store.protocol import Store

_HELD = 2  # batches' worth of dialogues, and of characters of their prompts, held in a round
_KEY = 31  # hex digits of a request's digest: more do not fit into its name


_Requests: TypeAlias = dict[str, tuple[Request, str]]  # requests and their dialogues, by key


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A batch whose results have been fetched; ``answers`` counts those that are replies."""

    batch: Batch
    state: str
    answers: int


class _Result(NamedTuple):
    """What a batch brought for a request; ``logged`` says that the call is in the reply log."""

    outcome: Call | ProviderError
    batch: Batch
    logged: bool = False


class BatchRounds:
    """The batches of one model; a :class:`~kgbench.engine.calls.Channel` for its dialogues.

    ``refused`` is the reason why the provider takes no more batches, or ``None``.
    """

    MOST = MOST_REQUESTS  # requests in a batch

    def __init__(self, run: Run, setup: ModelSetup, client: BatchClient) -> None:
        self.setup = setup
        self.refused: str | None = None
        self._run = run
        self._client = client
        self._retry_policy = RetryPolicy(run.plan.max_retries, run.settings.patience_scale)
        self._known: set[str] = set()  # ids of batches that are recorded
        self._collected: _Requests = {}
        self._results: dict[str, _Result] = {}  # by key
        self._failed: dict[str, tuple[int, int]] = {}  # failures and refusals so far, by key
        self._fetched: list[_Fetched] = []
        self._again_at = 0.0  # time of the event loop before which nothing is submitted

    @property
    def given_up(self) -> bool:
        """Whether the batches under way are left to the next session."""
        return self._client.giving_up.is_set()

    @property
    def ended(self) -> bool:
        """Whether no further round begins: the provider refuses it, or the run is given up."""
        return self.refused is not None or self.given_up

    def room(self, dialogues: int, characters: int) -> bool:
        """Return whether a round of these dialogues and prompts has room for another."""
        return dialogues < _HELD * self.MOST and characters < _HELD * MOST_CHARACTERS

    async def call(self, request: Request, dialogue: str) -> Call:
        """Return the call that a batch has answered, or collect its request.

        A provider's failure is in the call. Raises :class:`~kgbench.connectors.CallAbandoned` for
        a collected request.
        """
        key = digest(canonical_json([dialogue, *request.messages]))[:_KEY]
        if key not in self._results:
            self._retry_policy.count_call()
            self._collected[key] = request, dialogue
            raise CallAbandoned
        answer, batch, logged = self._results.pop(key)
        failures, refusals = self._failed.pop(key, (0, 0))
        if isinstance(answer, Call):
            assert answer.reply is not None
            if not logged:
                self._run.replies.log_call(answer, request, dialogue)
            k = len(request.messages) // 2
            self._run.journal.reply(answer.reply, dialogue=dialogue, round=k, batch=batch.id)
            return answer
        refusals += isinstance(answer, RateLimited)
        failures += not isinstance(answer, RateLimited)
        wait = self._retry_policy.wait(failures, refusals, answer)
        error = f"{type(answer).__name__}: {answer}"
        self._run.journal.note("failure", dialogue=dialogue, error=error, wait=wait)
        if wait is None or self._run.stop.requested:
            call = _call(batch, retries=failures + refusals - 1)
            return replace(call, failure=outcome(answer), error=error)
        self._again_at = max(self._again_at, asyncio.get_running_loop().time() + wait)
        self._failed[key] = failures, refusals
        self._collected[key] = request, dialogue
        raise CallAbandoned

    async def fetch_earlier(self) -> None:
        """Fetch the open batches of earlier sessions, before anything new is submitted."""
        recorded = batches.all_batches(self._run.store, self._run.recorder.run_graph)
        self._known = {batch.id for batch in recorded if batch.id is not None}
        mine = [b for b in recorded if b.state is None and b.model == self.setup.iri]
        self._awaiting(sum(batch.requests for batch in mine))
        await asyncio.gather(*(self._fetch(batch, {}) for batch in mine))

    async def submit_and_fetch(self) -> None:
        """Submit the collected requests, and fetch the results once their batches have ended."""
        seconds = self._again_at - asyncio.get_running_loop().time()
        if seconds > 0:
            await self._client.pause(seconds)
        submitted: list[tuple[Batch, _Requests]] = []
        try:
            while self._collected and not self.ended:
                requests = self._next_requests()
                batch = await self._submit(requests)
                if batch is not None:
                    submitted.append((batch, requests))
        except CallAbandoned:  # the batch may have been submitted: the next session looks for it
            pass
        except BatchNotCreated as refused:
            self.refused = refused.reason
        self._collected.clear()
        await asyncio.gather(*(self._fetch(*one) for one in submitted))

    async def close_stored(self) -> None:
        """Record the end of the batches whose answers are all stored; the others stay open."""
        if not self._fetched:
            return
        await self._run.writer.put([])
        graph = self._run.recorder.run_graph
        for fetched in list(self._fetched):
            if batches.answers(self._run.store, graph, fetched.batch) >= fetched.answers:
                await self._close(fetched.batch, fetched.state)
                self._fetched.remove(fetched)

    def _next_requests(self) -> _Requests:
        """Remove and return the collected requests of the next batch."""
        requests: _Requests = {}
        characters = 0
        for key, (request, dialogue) in self._collected.items():
            characters += sum(map(len, request.messages))
            if requests and (len(requests) == self.MOST or characters > MOST_CHARACTERS):
                break
            requests[key] = request, dialogue
        for key in requests:
            del self._collected[key]
        return requests

    async def _submit(self, requests: _Requests) -> Batch | None:
        """Submit a batch; return ``None`` if the run is given up before the provider has it."""
        ids = {"run": self._run.recorder.run_id, "batch": new_id()}
        iri = self._run.recorder.iris.mint("batch", **ids)
        batch = Batch(iri, self.setup.iri, len(requests), clock.now())
        named = [BatchRequest(name(batch.token, key), r) for key, (r, _) in requests.items()]
        known = None
        self._awaiting(len(requests))
        await self._run.writer.put(batches.intention_blocks(self._run.recorder, self.setup, batch))
        try:
            known = await self._client.submitted(batch, named, self._known)
        except BatchNotCreated:
            await self._close(batch, batches.NOT_SUBMITTED)
            raise
        finally:
            if known is None:
                self._awaiting(-len(requests))
        if known is None:
            await self._close(batch, batches.NOT_SUBMITTED)
            return None
        self._known.add(known.id or "")
        await self._run.writer.put([batches.id_block(self._run.recorder, known)])
        for _, dialogue in requests.values():
            self._run.journal.note("request", dialogue=dialogue, batch=known.id)
        return known

    async def _fetch(self, batch: Batch, requests: _Requests) -> None:
        """Wait for a batch and keep its results; ``requests`` are those of this session.

        Of a batch of an earlier session only replies are kept: what failed is asked again.
        """
        try:
            if batch.id is None:
                known = await self._client.find(batch, self._known)
                if known is None:
                    await self._close(batch, batches.NOT_SUBMITTED)
                    return
                await self._run.writer.put([batches.id_block(self._run.recorder, known)])
                batch = known
            status = await self._client.ended(batch)
            results = await self._client.results(batch, status)
        except CallAbandoned:
            return
        except BatchesRefused as refused:
            self.refused = refused.reason
            return
        finally:
            self._awaiting(-batch.requests)
        assert status.missing is not None
        missing, answers = set(requests), 0
        for each, found in results.items():
            key = each.removeprefix(f"{batch.token}-")
            if key != each and (key in requests or not requests):
                answers += isinstance(found, Reply)
                self._keep(key, found, batch, requests)
                missing.discard(key)
        for key in missing:
            self._results[key] = _Result(status.missing, batch)
        self._fetched.append(_Fetched(batch, status.state, answers))

    def _keep(
        self, key: str, found: Reply | ProviderError, batch: Batch, requests: _Requests
    ) -> None:
        """Keep the result for a request until its dialogue is held; log its reply if possible."""
        if isinstance(found, Reply):
            call = _call(batch, found, retries=sum(self._failed.get(key, ())))
            if key in requests:
                self._run.replies.log_call(call, *requests[key])
            self._results[key] = _Result(call, batch, logged=key in requests)
        elif requests:
            self._results[key] = _Result(found, batch)

    def _awaiting(self, answers: int) -> None:
        """Change the number of answers that are under way."""
        self._run.progress.awaited += answers
        self._run.watch(self._run.progress)

    async def _close(self, batch: Batch, state: str) -> None:
        graph, ended = self._run.recorder.run_graph, batches.end_time(batch)
        await self._run.writer.put([batches.end_block(graph, batch, state, ended)])
        self._run.journal.note("batch-closed", batch=batch.id, iri=batch.iri, state=state)


def _call(batch: Batch, reply: Reply | None = None, *, retries: int) -> Call:
    ended = batches.end_time(batch)
    return Call(batch.started, ended, reply, retries=retries, batch=batch.iri)


def refuse_beside(store: Store, run: RunInfo, plan: Plan, batched: Collection[str]) -> None:
    """Refuse to call a model directly while it has open batches.

    ``batched`` are the IRIs of the models that this session asks in batches. Raises
    :class:`~kgbench.errors.ModelSpecError`.
    """
    setups = {setup.iri: setup for setup in plan.models if setup.iri not in batched}
    open_ = [batch for batch in batches.unended_batches(store, run.graph) if batch.model in setups]
    if open_:
        ids = ", ".join(sorted({batch.id or "one without an id yet" for batch in open_}))
        raise ModelSpecError(
            f"{setups[open_[0].model].spec} has batches under way ({ids}): continue with "
            f"--batch, which collects them, or give them up with --abandon-batches"
        )


async def abandon(store: Store, run: RunInfo, plan: Plan, journal: Journal) -> None:
    """Ask providers to cancel the open batches of the plan's models, without waiting for them."""
    setups = {setup.iri: setup for setup in plan.models}
    for batch in batches.unended_batches(store, run.graph):
        if batch.model not in setups:
            continue
        message = None
        if batch.id is not None:
            try:
                async with open_batches(setups[batch.model], plan.call_timeout) as provider:
                    await provider.cancel(batch.id)
            except (ProviderError, ModelSpecError) as error:
                # The batch may have ended, or the provider may have deleted it.
                message = str(error)
        journal.note("batch-abandoned", iri=batch.iri, batch=batch.id, error=message)
        store.write(
            [batches.end_block(run.graph, batch, batches.ABANDONED, batches.end_time(batch))]
        )
