# SPDX-License-Identifier: Apache-2.0
"""Systems behind the TEXT2SPARQL protocol are used as models, and kgbench's server speaks it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from kgbench.config import model_setup
from kgbench.engine.calls import RetryPolicy
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Case, Reply, Request
from kgbench.net import limits
from kgbench.plugins.challenges import connector as text2sparql
from tests.support.servers.handled import Handled, Quiet

DATASET = "https://example.org/2025/office/"
QUESTION = "Wer arbeitet im Verkauf & wo?"
CASE = Case("urn:case", "s", "T", {}, {"question": QUESTION, "dataset": DATASET}, "0" * 64)
QUERY = "SELECT * { ?s ?p ?o }"

Respond = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def system(respond: Respond) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server with the given responses, and the list of requested URLs."""
    asked: list[str] = []

    class Responding(Quiet, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            asked.append(self.path)
            respond(self)

    with Handled(Responding) as server:
        yield server.url, asked


def saying(body: bytes | str, status: int = 200, **headers: str) -> Respond:
    """Return a function that responds with this body."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        content = body.encode() if isinstance(body, str) else body
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return respond


def answered(url: str, *messages: str, options: str = "") -> Reply:
    """Return the reply of the system at ``url`` to the case's question, or to other messages."""

    async def ask() -> Reply:
        async with text2sparql.open(model_setup(f"text2sparql:{url}{options}"), 1.0) as connector:
            return await connector.ask(Request(messages or (QUESTION,), CASE, "0"))

    return asyncio.run(ask())


def test_a_question_is_asked_and_the_query_is_the_answer() -> None:
    """Data set and question are sent unchanged; the query is returned unchanged."""
    body = json.dumps({"dataset": DATASET, "question": QUESTION, "query": QUERY})
    with system(saying(body)) as (url, asked):
        reply = answered(f"{url}/any/path")
        other = answered(f"{url}/any/path", options="?dataset=urn:other")
    assert (reply.text, other.text) == (QUERY, QUERY)
    assert urlsplit(asked[0]).path == "/any/path"
    assert parse_qs(urlsplit(asked[0]).query) == {"dataset": [DATASET], "question": [QUESTION]}
    assert parse_qs(urlsplit(asked[1]).query)["dataset"] == ["urn:other"]


@pytest.mark.parametrize("query", [None, ""])
def test_no_query_is_an_empty_answer(query: str | None) -> None:
    """A response without a query is an empty answer."""
    with system(saying(json.dumps({"query": query}))) as (url, _):
        assert answered(url).text == ""


def test_only_bare_questions_are_asked() -> None:
    """A prompt with instructions, or a second round, is refused: the protocol cannot carry it."""
    with system(saying("{}")) as (url, asked):
        for messages in (("Write a query.",), (QUESTION, "answer", "Once more.")):
            with pytest.raises(ProviderRefused, match="bare question"):
                answered(url, *messages)
    assert asked == []


def test_redirects_stay_within_the_server() -> None:
    """A redirect within the server is followed; to another server, or in a circle, it is not."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        path, _, query = handler.path.partition("?")
        to = {"/old": f"/new?{query}", "/away": "http://127.0.0.1:9/", "/round": "/round"}.get(path)
        if to is None:
            saying(json.dumps({"query": QUERY}))(handler)
        else:
            saying("", 302, Location=to)(handler)

    with system(respond) as (url, _):
        assert answered(f"{url}/old").text == QUERY
        for path in ("away", "round"):
            with pytest.raises(ProviderRefused, match="redirects"):
                answered(f"{url}/{path}")


FAILURES: dict[str, tuple[Respond, type[ProviderError], str]] = {
    "no JSON": (saying("<html>"), ProviderError, "is not JSON"),
    "no object": (saying("[]"), ProviderError, "no 'query'"),
    "no query": (saying('{"error": "no graph"}'), ProviderError, "no graph"),
    "query no text": (saying('{"query": {}}'), ProviderError, "not a string"),
    "server error": (saying("sorry", 500), ProviderError, "HTTP 500: sorry"),
    "refused": (saying("unknown data set", 404), ProviderRefused, "unknown data set"),
    "too slow inside": (saying("", 504), ProviderTimeout, "HTTP 504"),
    "foreign coding": (saying("x", Content_Encoding="br"), ProviderError, "content coding"),
}


@pytest.mark.parametrize(("respond", "kind", "why"), FAILURES.values(), ids=FAILURES)
def test_failures_have_words(respond: Respond, kind: type[ProviderError], why: str) -> None:
    """Each failure has the class that decides about a retry, and names the cause."""
    with system(respond) as (url, _), pytest.raises(kind, match=why) as raised:
        answered(url)
    assert type(raised.value) is kind


def test_a_response_without_end_is_cut_off() -> None:
    """The response of a server that sends more than a query can have is cut off."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * limits.PIECE)
        except OSError:
            pass  # the client has closed the connection

    with system(respond) as (url, _), pytest.raises(ProviderRefused, match="more than"):
        answered(url)


def test_a_system_that_does_not_answer_is_left_in_time() -> None:
    """A call that reaches the deadline of the option is a timeout."""
    release = threading.Event()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        release.wait(60)
        saying("{}")(handler)

    with system(respond) as (url, _):
        try:
            with pytest.raises(ProviderTimeout, match="no answer within 1 s"):
                answered(url, options="?timeout=1")
        finally:
            release.set()


def test_nobody_listens() -> None:
    """An address where no server listens is a failure that can be retried."""
    with pytest.raises(ProviderError, match="the connection failed"):
        answered("http://127.0.0.1:9/")


def test_calls_are_repeated_as_the_challenge_does() -> None:
    """A call is retried five times, fifteen seconds after each failure; it may take ten minutes."""
    with system(saying("sorry", 500)) as (url, _), pytest.raises(ProviderError) as raised:
        answered(url)
    patience = RetryPolicy(5, 1.0)
    patience.count_call()
    waits = [patience.wait(failures, 0, raised.value) for failures in range(1, 7)]
    assert waits == [15.0] * 5 + [None]
    connector = text2sparql.open(model_setup("text2sparql:http://127.0.0.1:9/"), 1.0)
    assert connector.deadline == 600.0


def test_specifications() -> None:
    """A system is named by its address or by a name; it has no sampling parameters."""
    by_address = model_setup("text2sparql:https://half.example.org/api")
    named = model_setup("text2sparql:HALF@https://half.example.org/api?timeout=180")
    assert (by_address.is_system, named.is_system) == (True, True)
    assert model_setup(by_address.spec) == by_address
    assert model_setup(named.spec) == named
    assert (named.model_id, named.base_url) == ("HALF", "https://half.example.org/api")
    assert model_setup("baseline:oracle").is_system is False
    for wrong in ("text2sparql:HALF", "text2sparql:ftp://host/", "text2sparql:http://h/?seed=1"):
        with pytest.raises(ModelSpecError):
            text2sparql.open(model_setup(wrong), 1.0)
