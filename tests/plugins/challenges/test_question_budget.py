# SPDX-License-Identifier: Apache-2.0
"""``kgbench ask`` spends nothing for other sites, and no more than its budget."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.serve import startup
from tests.plugins.challenges.test_question_answering import installed, served
from tests.support import text2sparql_data as data
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech

__all__ = ["installed"]
ASKED = urlencode({"dataset": data.DATASET, "question": "Who is oldest?"})
ANSWER = "```sparql\nSELECT ?x { ?x ?y ?z }\n```"


def status(url: str, method: str = "GET", **headers: str) -> int:
    """Return the status of the answer to a question."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{url}/text2sparql?{ASKED}", headers=named, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_pages_of_other_origins_cause_no_calls(installed: Path) -> None:
    """Requests that a page of another origin causes get 403, and other requests an answer."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    with (
        LoopbackServer(OpenAISpeech(), answer=fixed(ANSWER)) as model,
        served(f"openai:m@{model.url}") as url,
    ):
        for headers in (
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "same-site"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://[bad"},
            {"Origin": "http://127.0.0.1:1"},
            {"Origin": url.replace("http:", "https:")},
        ):
            assert status(url, **headers) == 403, headers
        assert status(url, Host="10.1.2.3") == 421
        assert status(url, "HEAD") == 405
        assert len(model.ledger) == 0
        for headers in ({}, {"Sec_Fetch_Site": "none"}, {"Origin": url}):
            assert status(url, **headers) == 200, headers
        assert len(model.ledger) == 3


def test_the_token_is_required_where_there_is_one(installed: Path) -> None:
    """With a token, only questions that carry it are answered."""
    with served("baseline:silent", token="long secret") as url:
        assert status(url) == 401
        assert status(url, Authorization="Bearer other") == 401
        assert status(url, Authorization="Bearer long secret") == 502  # its model is silent


def test_the_budget_ends_the_calls(installed: Path) -> None:
    """After the budget is spent, questions get 402 and no call is made."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    with (
        LoopbackServer(OpenAISpeech(), answer=fixed(ANSWER)) as model,
        served(f"openai:m@{model.url}", max_tokens=1_000) as url,
    ):
        statuses = [status(url) for _ in range(12)]
        answered = statuses.count(200)
        assert statuses == [200] * answered + [402] * (12 - answered)
        assert 0 < answered < 12
        assert len(model.ledger) == answered


def test_questions_of_clients_that_are_gone_are_dropped(installed: Path) -> None:
    """Waiting questions whose clients disconnect are not sent to the model."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    held = threading.Event()
    started = threading.Event()

    def answer(_: str) -> str:
        started.set()
        held.wait(20)
        return ANSWER

    with (
        LoopbackServer(OpenAISpeech(), answer=answer) as model,
        served(f"openai:m@{model.url}", requests_per_minute=1) as url,
    ):
        address = urlsplit(url)
        head = f"GET /text2sparql?{ASKED} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
        first = socket.create_connection((address.hostname or "", address.port or 0))
        first.sendall(head)
        assert started.wait(20)
        for _ in range(30):
            with socket.create_connection((address.hostname or "", address.port or 0)) as gone:
                gone.sendall(head)
        held.set()
        with first:
            assert first.recv(12) == b"HTTP/1.1 200"
        assert len(model.ledger) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["baseline:silent", "--host", "0.0.0.0"], "--open"),
        (["baseline:silent", "--public", "https://example.org/"], "KGBENCH_SERVE_TOKEN"),
        (["openai:gpt-5.2"], "--max-cost"),
    ],
)
def test_what_the_command_must_be_told(
    installed: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], words: str
) -> None:
    """Beyond loopback it needs a token or ``--open``, and for a model with a price a budget."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setattr(startup, "run", lambda *_: pytest.fail("it started"))
    result = CliRunner().invoke(app, ["ask", *given])
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize("told", [["--open"], []])
def test_beyond_loopback_with_open_or_a_token(
    installed: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    """With ``--open`` or a token, the server also listens beyond loopback."""
    started = []
    monkeypatch.setattr(startup, "run", lambda *given: started.append(given))
    if not told:
        monkeypatch.setenv("KGBENCH_SERVE_TOKEN", "long secret")
    given = ["ask", "baseline:silent", "--host", "0.0.0.0", *told]
    result = CliRunner().invoke(app, [*given, "--requests-per-minute", "60"])
    assert result.exit_code == 0, result.output
    assert len(started) == 1
