# SPDX-License-Identifier: Apache-2.0
"""Batch runs against servers with a batch interface, shared by several tests."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack

from kgbench.record import batches, reading
from tests.support.runs import planned
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
        fields = {"batch": True, "max_retries": 2, "call_timeout": 60.0, **rest}
        return planned(label, spec, iterations=iterations, **fields)

    def created(self):
        """Return how often a batch was submitted, according to the server."""
        return sum(e.method == "POST" and e.path == CREATED[self.kind] for e in self.server.ledger)


def started(kind, monkeypatch):
    """Yield a function that starts servers of one kind; all are stopped at the end."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-openai-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-anthropic-0123456789")
    with ExitStack() as running:

        def start(script=None, **details):
            made = Provider(kind, script, **details)
            running.enter_context(made.server)
            return made

        yield start


def open_batches(store):
    """Return the unended batches of the only run."""
    (info,) = reading.runs(store)
    return batches.unended_batches(store, info.graph)


def asked_twice(made):
    """Return the requests that the server charged more than once."""
    counted = Counter(json.dumps(asked.body, sort_keys=True) for asked in made.desk.ledger)
    return [body for body, n in counted.items() if n > 1]
