# SPDX-License-Identifier: Apache-2.0
"""Tool calls in the providers' protocols: messages sent back, and unreadable calls."""

from __future__ import annotations

import json

import pytest

from kgbench.connectors import anthropic, chat_completions, responses
from kgbench.connectors.bodies import conversation
from kgbench.connectors.google import reply, request_contents
from kgbench.model import Case, ModelSetup, Request
from kgbench.plugins.agents.graph_tools import TOOLS
from kgbench.store import open_store
from kgbench.tool_calls import ToolCall, ToolOutcome
from kgbench.tools import wording
from tests.support.runs import hold
from tests.support.servers import anthropic_server, google_server, openai_server, scripts
from tests.support.tool_runs import NATIVE, PROTOCOLS, held, loopbacks, plan_of, said
from tests.support.validation import assert_conforms

CASE = Case("urn:case", "s", "T", {}, {}, "0" * 64)
THOUGHT = "They ask about Anne."
ERROR = ToolOutcome.ERROR
SPECS = {**PROTOCOLS, "responses": (openai_server.OpenAISpeech, "openai:o5-loop@{}?api=responses")}
STEPS = (NATIVE[0], NATIVE[2])  # two calls in one message, and the answer


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set every provider's key."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-loopback")


def handed_back(protocol, body):
    """Return the model's first message as sent back in the last request of a dialogue."""
    if protocol == "chat":
        return body["messages"][1]
    if protocol == "responses":
        return [i for i in body["input"] if i.get("type") != "function_call_output"][1:]
    if protocol == "anthropic":
        return body["messages"][1]["content"]
    return body["contents"][1]["parts"]


def expected(protocol):
    """Return the message that the server had sent."""
    (call_a, call_b) = wording.split_calls(NATIVE[0])[1]
    if protocol == "chat":
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in (call_a, call_b)
        ]
        return {
            "role": "assistant",
            "content": "Two at once.",
            "tool_calls": calls,
            "reasoning_content": THOUGHT,
        }
    if protocol == "responses":
        part = {"type": "output_text", "text": "Two at once.", "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{c.id}",
                "call_id": c.id,
                "name": c.name,
                "arguments": c.arguments,
            }
            for c in (call_a, call_b)
        ]
        summary = [{"type": "summary_text", "text": THOUGHT}]
        thought = {"type": "reasoning", "id": "rs_1", "summary": summary}
        thought["encrypted_content"] = openai_server.ENCRYPTED
        return [thought, {**message, "status": "completed"}, *calls]
    given = [json.loads(c.arguments) for c in (call_a, call_b)]
    if protocol == "anthropic":
        signature = anthropic_server.SIGNATURE
        return [
            {"type": "thinking", "thinking": THOUGHT, "signature": signature},
            {"type": "text", "text": "Two at once.", "citations": None},
            {"type": "tool_use", "id": "a", "name": "search", "input": given[0]},
            {"type": "tool_use", "id": "b", "name": "query", "input": given[1]},
        ]
    return [
        {"text": THOUGHT, "thought": True},
        {"text": "Two at once."},
        {
            "functionCall": {"name": "search", "args": given[0]},
            "thoughtSignature": google_server.SIGNATURE,
        },
        {"functionCall": {"name": "query", "args": given[1]}},
    ]


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("protocol", SPECS)
def test_thoughts_go_back_as_received(protocol, dies):
    """Thinking and signatures are sent back with the results, also after an interruption."""
    speech, spec = SPECS[protocol]
    script = scripts.sequence("answer", "server-error") if dies else None
    with loopbacks() as start, open_store("memory:") as store:
        server = start(STEPS, speech, script, reasoning=THOUGHT)
        plan = plan_of(spec.format(server.url))
        for _ in range(1 + dies):
            done = hold(store, plan)
        (dialogue,) = held(store)
        assert_conforms(store)
        last = server.ledger[-1].body

    assert done.finished
    assert len(server.acknowledged) == 2
    found = handed_back(protocol, last)
    if protocol == "google":  # the SDK writes URL-safe base64, which is equivalent
        for part in found:
            if "thoughtSignature" in part:
                safe = part["thoughtSignature"]
                part["thoughtSignature"] = safe.replace("-", "+").replace("_", "/")
    assert found == expected(protocol)
    assert dialogue.turns[0].calls[-1].reply.state is not None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_dies_changes_no_transcript(protocol):
    """If a server fails between call and result, the dialogue is the same and paid once."""
    speech, spec = PROTOCOLS[protocol]
    transcripts = []
    with loopbacks() as start:
        for script in (None, scripts.sequence("answer", "cut", "answer", "overloaded")):
            server = start(NATIVE, speech, script)
            with open_store("memory:") as store:
                plan = plan_of(spec.format(server.url))
                # two sessions meet failures; with more than four the run would never finish
                assert any(hold(store, plan).finished for _ in range(4))
                (dialogue,) = held(store)
                assert_conforms(store)
            digests = [entry.digest for entry in server.acknowledged]
            assert len(digests) == len(set(digests)) == 3
            transcripts.append(said(dialogue))

    assert transcripts[0] == transcripts[1]


def request(*messages, states=()):
    """Return a request to a connector."""
    return Request(messages, CASE, "0", tools=TOOLS, states=states)


def test_a_call_that_google_could_not_read():
    """A call that the API could not read is malformed, and is sent back as text."""
    body = {
        "candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "search(An"}]
    }
    answer = reply(body).text
    (call,) = wording.calls(answer)
    said_back = request_contents(request("Ask.", answer, "error: try again"))

    assert call == ToolCall(
        "", "search(An", malformed="the provider could not read the call (MALFORMED_FUNCTION_CALL)"
    )
    assert [turn["parts"] for turn in said_back[1:]] == [
        [{"text": "search(An"}],
        [{"text": "error: try again"}],
    ]


def test_a_call_without_a_name():
    """A call without a name is malformed and is not sent back as a call."""
    function = {"arguments": "{}"}
    body = {"choices": [{"message": {"tool_calls": [{"id": "x", "function": function}]}}]}
    answer = chat_completions.reply(body).text
    setup = ModelSetup("urn:m", "m", "openai", "m", "openai:m")
    (call,) = wording.calls(answer)
    sent = chat_completions.request(setup, request("Ask.", answer, "error"))["messages"]

    assert call.malformed == "the call names no tool"
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]


def test_names_that_providers_refuse_are_changed():
    """A tool name that providers refuse is changed in messages that are sent back."""
    answer = wording.with_calls("", [ToolCall("find it!", "{}", "a"), ToolCall("x" * 99, "{}")])
    made = list(conversation(request("Ask.", answer, "nothing")))

    assert [call.name for call in made[1].calls] == ["find_it_", "x" * 64]
    assert [result.call.name for result in made[2].results] == ["find_it_", "x" * 64]
    assert made[2].results[-1].text.endswith("nothing")


def test_errors_are_marked_for_anthropic():
    """An error result is marked as such in the protocol's field."""
    answer = wording.with_calls("", [ToolCall("a", "{}", "1"), ToolCall("b", "{}", "2")])
    told = "\n".join(
        f'```tool_result {{"id":"{k}","tool":"t","outcome":"{outcome}"}}\ntext\n```'
        for k, outcome in (("1", "ok"), ("2", "error"))
    )
    sent = anthropic.messages_request(request("Ask.", answer, f"{told}\nLeft: 3."))["messages"][-1][
        "content"
    ]

    assert [one.get("is_error") for one in sent] == [None, True]
    assert sent[1]["content"] == "text\nLeft: 3."


@pytest.mark.parametrize(
    ("model", "sampling", "included"),
    [
        ("gpt-4o", {}, None),
        ("o3", {}, ["reasoning.encrypted_content"]),
        ("gpt-5.2", {}, ["reasoning.encrypted_content"]),
        ("mine", {"reasoning": {"effort": "low"}}, ["reasoning.encrypted_content"]),
        ("o3", {"include": []}, []),
    ],
)
def test_who_is_asked_for_encrypted_reasoning(model, sampling, included):
    """Only reasoning models are asked for encrypted reasoning; others refuse the request."""
    setup = ModelSetup("urn:m", "m", "openai", model, f"openai:{model}", sampling=sampling)

    assert responses.request(setup, request("Ask.")).get("include") == included


@pytest.mark.parametrize(
    ("written", "said"),
    [
        *((text, "are not") for text in ("[1]", "{", "nothing", "[" * 99, "[" * 100_000)),
        *((f'{{"a": {n}}}', "are") for n in ("NaN", "-Infinity", "1e999")),
        ('{"a":' * 60 + "1" + "}" * 60, "are nested more than"),
    ],
)
def test_arguments_that_cannot_be_sent_back(written, said):
    """Arguments that are no JSON object, or that JSON cannot represent, are refused."""
    with pytest.raises(ValueError, match=f"the arguments {said}"):
        wording.read_arguments(written)
