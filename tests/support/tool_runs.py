# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools for tests: scripted models, plans, and the stored dialogues."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from kgbench.record.dialogues import dialogues
from kgbench.tool_calls import ToolCall
from kgbench.tools import wording
from tests.support.runs import planned
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

LABEL = "Text2SparqlToolsOrganizational-tools"
FOUND = "https://abc.def/ghi/chiefResearchOfficer"
QUERY = "SELECT ?role WHERE { ?m org:member <https://abc.def/ghi/anne> ; org:role ?role }"
PROTOCOLS = {
    "chat": (OpenAISpeech, "openai:loopback@{}"),
    "responses": (OpenAISpeech, "openai:loopback@{}?api=responses"),
    "anthropic": (AnthropicSpeech, "anthropic:loopback@{}"),
    "google": (GoogleSpeech, "google:loopback@{}"),
}


def call(name, id_=None, **arguments):
    """Return a call of the scripted model."""
    return ToolCall(name, json.dumps(arguments), id_)


NATIVE = (
    wording.with_calls(
        "Two at once.", [call("search", "a", text="Anne"), call("query", "b", sparql=QUERY)]
    ),
    wording.with_calls(
        "", [call("lookup", "c", text="Anne"), call("describe", "d", uri="x"), call("schema", "e")]
    ),
    wording.with_calls("", [call("answer", "f", sparql=QUERY)]),
)
OUTCOMES = ["ok", "ok", "error", "error", "ok", "ok"]
TEXT = (
    '```json\n{"tool": "search", "arguments": {"text": "Anne"}}\n```',
    "Let me think about it.",
    '```json\n{"tool": "query", "arguments": {"sparql": \n```',
    json.dumps({"tool": "answer", "arguments": {"sparql": QUERY}}),
)


def scripted(steps, prompt):
    """Return the next step; each prompt of a dialogue with tools says once what is left."""
    return steps[min(prompt.count("Left: ") - 1, len(steps) - 1)]


def plan_of(*specs, iterations=1, **parameters):
    """Return a plan of dialogues with tools."""
    plan = planned(LABEL, *specs, iterations=iterations)
    tasks = [replace(t, parameters={**t.parameters, **parameters}) for t in plan.tasks]
    return replace(plan, tasks=tuple(tasks), max_retries=0, call_timeout=60.0)


def held(store):
    """Return all dialogues of a store."""
    rows = store.query(
        "PREFIX kgb: <https://w3id.org/kgbench/ns#> "
        "SELECT ?dialogue { GRAPH ?g { ?dialogue a kgb:Dialogue } } ORDER BY ?dialogue"
    )
    return list(dialogues(store, [row["dialogue"].value for row in rows]))


def scores(store):
    """Return the scores of all evaluations by short name."""
    rows = store.query(
        "PREFIX kgb: <https://w3id.org/kgbench/ns#> "
        "SELECT ?metric ?value { GRAPH ?g { ?e a kgb:Evaluation ; ?metric ?value } "
        "FILTER (CONTAINS(STR(?metric), '/metric/')) }"
    )
    found = {}
    for row in rows:
        name = row["metric"].value.rpartition("/")[2]
        found.setdefault(name, []).append(float(row["value"].value))
    return found


def said(dialogue):
    """Return the turns of a dialogue without times and IRIs."""
    return [
        (
            re.sub(r"\d+ of \d+ seconds", "", t.prompt),
            t.answer,
            t.feedback,
            [(u.call, u.result) for u in t.uses],
        )
        for t in dialogue.turns
    ]


@contextmanager
def loopbacks():
    """Yield a function that starts a server with a scripted model; all servers end on exit."""
    with ExitStack() as started:

        def start(steps, speech=OpenAISpeech, script=None, **details):
            answer = partial(scripted, steps)
            server = LoopbackServer(speech(**details), script=script, answer=answer)
            return started.enter_context(server)

        yield start
