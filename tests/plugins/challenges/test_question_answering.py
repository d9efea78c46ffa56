# SPDX-License-Identifier: Apache-2.0
"""``kgbench ask``: a model answers questions, also of our own connector."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.config import model_setup
from kgbench.datasets import home
from kgbench.engine.spending import Limits, Spending
from kgbench.errors import TaskError
from kgbench.plugins.challenges import question_answering
from kgbench.serve import startup
from kgbench.serve.settings import Settings
from kgbench.store import open_reader
from kgbench.tasks import graphs
from kgbench.vocab import KGB
from tests.support import text2sparql_data as data
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the invented data set and return the folder."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    graphs.summary.cache_clear()
    copy = data.write_data_set(tmp_path / "copy")
    arguments = ["datasets", "install", "ck25", "--from", str(copy), "--unverified"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    return tmp_path


@contextmanager
def served(
    spec: str,
    timeout: float = 60.0,
    *,
    token: str | None = None,
    requests_per_minute: float | None = None,
    max_tokens: int | None = None,
) -> Iterator[str]:
    """Yield the address of a model's endpoint, which runs in a thread."""
    hosts = startup.host_names("127.0.0.1", None)
    settings = Settings(location="memory:", hosts=hosts, token=token)
    setup = model_setup(spec)
    spending = Spending([setup], [], {}, {}, Limits(max_tokens=max_tokens), batched=())
    application = question_answering.application(
        settings, setup, timeout, spending=spending, requests_per_minute=requests_per_minute
    )
    server = startup.server(settings, application)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


def get(url: str, path: str = "/text2sparql", **fields: Any) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of a response."""
    try:
        with urllib.request.urlopen(f"{url}{path}?{urlencode(fields, doseq=True)}") as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_questions_are_answered_with_queries(installed: Path) -> None:
    """Installed questions in any language get the reference query from an oracle."""
    with served("baseline:oracle") as url:
        status, body = get(url, dataset=data.DATASET, question=data.TEXTS["1-de"])
        assert status == 200
        assert (body["dataset"], body["question"]) == (data.DATASET, data.TEXTS["1-de"])
        assert body["query"].startswith("SELECT ?p {")
        assert get(url, "/", dataset=data.DATASET, question=data.TEXTS["2-en"])[0] == 200
        status, body = get(url, "/health")
        assert (status, body) == (200, {"model": "baseline:oracle", "datasets": [data.DATASET]})


def test_refusals_are_in_words(installed: Path) -> None:
    """A request that cannot be answered gets a status and an error message."""
    question = data.TEXTS["1-en"]
    with served("baseline:oracle") as url:
        for fields, expected, words in (
            ({"question": question}, 400, "'dataset' must be given once"),
            ({"dataset": data.DATASET}, 400, "'question' must be given once"),
            ({"dataset": data.DATASET, "question": ["a", "b"]}, 400, "given once"),
            ({"dataset": "urn:other", "question": question}, 404, "is not known here"),
            ({"dataset": data.DATASET, "question": "x" * 5_000}, 413, "more than"),
            ({"dataset": data.DATASET, "question": "Why?"}, 404, "only knows"),
        ):
            status, body = get(url, **fields)
            assert (status, words in body["error"]) == (expected, True), body
        assert get(url, "/other")[0] == 404
        posted = urllib.request.Request(f"{url}/text2sparql", b"x")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(posted)
        with refused.value as answer:
            assert answer.code == 405
        elsewhere = urllib.request.Request(f"{url}/health", headers={"Host": "rebound.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(elsewhere)
        with refused.value as answer:
            assert answer.code == 421
    with served("baseline:silent") as url:
        status, body = get(url, dataset=data.DATASET, question=question)
        assert (status, body["error"]) == (502, "the model answered without a query")


def test_a_model_behind_a_provider_is_shown_the_schema(installed: Path) -> None:
    """A new question is sent with the schema, and the query is extracted from the answer."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return "Here it is:\n```sparql\nSELECT ?x { ?x ?y ?z }\n```\nGood luck."

    with (
        LoopbackServer(OpenAISpeech(), answer=answer) as model,
        served(f"openai:m@{model.url}") as url,
    ):
        status, body = get(url, dataset=data.DATASET, question="Who is oldest?")
    assert (status, body["query"]) == (200, "SELECT ?x { ?x ?y ?z }")
    assert "Question: Who is oldest?" in prompts[0]
    assert "ns1:Person (instances: 3, label: Person)" in prompts[0]


def test_a_provider_that_fails_is_told(installed: Path) -> None:
    """If the provider does not answer, the response is 502 with a message."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    with LoopbackServer(OpenAISpeech(), answer=fixed("")) as model:
        spec = f"openai:m@{model.url}"
    with served(spec) as url:  # the model's server has ended
        status, body = get(url, dataset=data.DATASET, question="Who is oldest?")
    assert status == 502
    assert "the model gave no answer" in body["error"]


RUN = """\
suite: text2sparql
tasks: ["Text2SparqlQuestions-ck25-en", "Text2SparqlQuestions-ck25-de"]
models: ["text2sparql:ORACLE@{url}/text2sparql"]
iterations: 4
"""


def test_our_connector_asks_our_server(installed: Path) -> None:
    """A run through the protocol has the scores of a direct run and records a system."""
    store = str(installed / "store")
    with served("baseline:oracle") as url:
        (installed / "run.yaml").write_text(RUN.format(url=url), encoding="utf-8")
        arguments = ["run", str(installed / "run.yaml"), "--store", store, "--json"]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["analyze", "leaderboard", "--store", store, "--json"])
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["model"], row["score"], row["n"]) == ("ORACLE", 1.0, 8)
    with open_reader(store) as opened:
        systems = list(opened.query(f"SELECT ?m {{ GRAPH ?g {{ ?m a <{KGB.System}> }} }}"))
    assert len(systems) == 1


def test_the_command_needs_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an installed data set, the command is refused with a message."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    with pytest.raises(TaskError, match="no data set with questions is installed"):
        CliRunner().invoke(app, ["ask", "baseline:oracle"], catch_exceptions=False)


def test_the_command_says_where_it_listens(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model, the data set and the address are printed when the server starts."""
    said: list[str] = []

    def run(server: object, words: str, host: str, port: int) -> None:
        said.append(f"{words}{host}:{port}")

    monkeypatch.setattr(startup, "run", run)
    arguments = ["ask", "baseline:oracle", "--port", "0"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (words,) = said
    assert words.startswith(f"serving baseline:oracle about {data.DATASET}\n")
    assert words.endswith("asked at {url}text2sparql\n127.0.0.1:0")
