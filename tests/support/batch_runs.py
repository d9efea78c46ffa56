# SPDX-License-Identifier: Apache-2.0
"""Batch runs against servers with a batch interface, shared by several tests."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace

from kgbench import config
from kgbench.engine import Settings, run_plan, run_to_continue
from kgbench.record import batches, reading
from tests.support.servers.anthropic_batches import AnthropicBatchSpeech
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_batches import OpenAIBatchSpeech

ROUNDS = "RdfSyntaxFixList-turtle"  # up to three rounds
ONE = "RdfFriendCount-turtle-1"
SPEECHES = {
    "openai": (OpenAIBatchSpeech, "openai:test@{url}"),
    "responses": (OpenAIBatchSpeech, "openai:test@{url}?api=responses"),
    "anthropic": (AnthropicBatchSpeech, "anthropic:test@{url}"),
}
CREATED = {"openai": "/v1/batches", "anthropic": "/v1/messages/batches"}


class Provider:
    """A started server, its batches, and the plan of a run with its model."""

    def __init__(self, kind, script=None, **details):
        speech, self._spec = SPEECHES[kind]
        self.kind = "openai" if kind == "responses" else kind
        self.speech = speech(**details)
        self.server = LoopbackServer(self.speech, script=script)

    @property
    def desk(self):
        """Return the server's record of batches."""
        return self.speech.desk

    def plan(self, iterations=4, label=ONE, **rest):
        """Return the plan of a batch run with this model."""
        spec = self._spec.format(url=self.server.url)
        plan = config.quick_start(tasks=[label], models=[spec], iterations=iterations)
        return replace(plan, batch=True, max_retries=2, call_timeout=60.0, **rest)

    def created(self):
        """Return how often a batch was submitted, according to the server."""
        return sum(e.method == "POST" and e.path == CREATED[self.kind] for e in self.server.ledger)


def started(kind, monkeypatch):
    """Yield a function that starts servers of one kind; all are stopped at the end."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-openai-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-anthropic-0123456789")
    running = []

    def start(script=None, **details):
        made = Provider(kind, script, **details)
        made.server.__enter__()
        running.append(made)
        return made

    yield start
    for made in running:
        made.server.__exit__(None, None, None)


def run(store, plan, stop=None, **settings):
    """Run or continue a plan in batches, with short waits."""
    chosen = Settings(
        run=run_to_continue(store, plan), patience_scale=0.005, executor="local:1", **settings
    )
    return asyncio.run(run_plan(store, plan, chosen, stop=stop))


def open_batches(store):
    """Return the unended batches of the only run."""
    (info,) = reading.runs(store)
    return batches.unended_batches(store, info.graph)


def asked_twice(made):
    """Return the requests that the server charged more than once."""
    counted = Counter(json.dumps(asked.body, sort_keys=True) for asked in made.desk.ledger)
    return [body for body, n in counted.items() if n > 1]
