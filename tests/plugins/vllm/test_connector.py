# SPDX-License-Identifier: Apache-2.0
"""The vLLM connector: a server that it starts (a stand-in here), and one at an address."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kgbench.children.child import command, environment
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused
from kgbench.model import Outcome, Reply
from kgbench.plugins.vllm import connector as vllm
from tests.connectors import FAILURES_AND_SILENCE, KEY, PATIENCE, SHORT, answer, asked, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import always


@pytest.fixture(autouse=True)
def stand_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package ``vllm`` on the path whose server has no model."""
    if request.node.originalname != "test_a_real_model_answers":
        monkeypatch.syspath_prepend(str(Path(scripts.__file__).with_name("vllm_stand_in")))


def _told(connector: Any) -> dict[str, Any]:
    """Return how the server was started."""
    root = connector.caller.url.removesuffix("/v1")
    with urllib.request.urlopen(f"{root}/arguments", timeout=PATIENCE) as response:
        told: dict[str, Any] = json.load(response)
    return told


def _with(steps: Callable[[Any], Awaitable[Any]], **rest: Any) -> Any:
    """Do ``steps`` with a connector whose server runs."""

    async def work() -> Any:
        async with vllm.open(setup_for("vllm", "org/model", **rest), PATIENCE) as connector:
            return await steps(connector)

    return asyncio.run(work())


def _has_gone(pid: int) -> bool:
    """Return whether a process ends within a moment; one that nobody waits for counts as ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_the_server_started_here_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are vLLM's, the version is recorded, no key is passed on, and the context is read."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    monkeypatch.setenv("HF_HOME", "/models")
    options = {
        "tensor_parallel_size": "2",
        "enforce_eager": True,
        "trust_remote_code": False,
        "chat_template": "{{ messages }}",
        "batch": 8,
        "startTag": "<s>",
        "endTag": "</s>",
    }

    async def steps(connector: Any) -> tuple[Reply, dict[str, Any]]:
        reply = await connector.ask(asked("prompt", "answer", "again"))
        await connector.read_limits()
        assert (connector.slots, connector.context) == (8, 4096)
        return reply, _told(connector)

    reply, told = _with(steps, options=options)

    assert reply.text == "<s>prompt</s>\n\nanswer\n\n<s>again</s>"
    assert (reply.model, reply.fingerprint) == ("org/model", "vllm 0.0.stand-in")
    words = ["--max-num-seqs", "8", "--tensor-parallel-size", "2", "--enforce-eager"]
    assert told["others"] == [*words, "--chat-template", "{{ messages }}"]
    assert told["environment"]["HF_HOME"] == "/models"
    assert KEY not in told["environment"].values()
    assert _has_gone(told["pid"])


def test_the_server_is_started_once_more() -> None:
    """After a kill the call fails with the reason and the next is answered; then no more."""

    async def steps(connector: Any) -> None:
        for error in (ProviderError, ProviderRefused):
            os.kill(_told(connector)["pid"], signal.SIGKILL)
            with pytest.raises(ProviderError, match=r"vllm:org/model: .*SIGKILL") as caught:
                await connector.ask(asked())
            assert type(caught.value) is error
            if error is ProviderError:
                assert (await connector.ask(asked("hello"))).text == "hello"

    _with(steps)


def test_ctrl_c_does_not_reach_the_server() -> None:
    """The server is in another session than the run."""

    async def steps(connector: Any) -> None:
        assert os.getsid(_told(connector)["pid"]) != os.getsid(0)

    _with(steps)


def test_the_server_ends_with_its_parent() -> None:
    """If the run is killed, the server ends, because the input of the child is closed."""
    settings = json.dumps({"arguments": ["--model", "m"]})
    words = command("kgbench.plugins.vllm.server", settings)
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        address = json.loads(child.stdout.readline())["address"]
        with urllib.request.urlopen(f"{address}/arguments", timeout=PATIENCE) as response:
            pid = json.load(response)["pid"]
        child.stdin.close()
        assert _has_gone(pid)


@pytest.mark.parametrize(
    ("model_id", "rest", "message"),
    [
        ("missing", {}, "vllm:missing cannot be loaded: .*missing is not a model"),
        ("m", {"sampling": {"n": 2}}, "not a sampling parameter"),
        ("m", {"options": {"tensor_parallel_size": 0}}, "at least 1"),
        ("m", {"options": {"chat_template": "no/such.jinja"}}, "cannot be read"),
        ("m", {"options": {"context_size": 1, "max_model_len": 2}}, "say different lengths"),
    ],
)
def test_unusable_setups_are_refused(model_id: str, rest: dict[str, Any], message: str) -> None:
    """A model that cannot be loaded, or an option that vLLM does not take, is refused."""
    with pytest.raises(ModelSpecError, match=message):
        answer(vllm, setup_for("vllm", model_id, **rest))


def test_options_of_published_configurations_are_vllms_own() -> None:
    """``context_size`` is the length of the server's context."""

    async def steps(connector: Any) -> dict[str, Any]:
        return _told(connector)

    assert _with(steps, options={"context_size": 8192})["others"][2:] == ["--max-model-len", "8192"]


def test_without_vllm_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without vLLM the message names the extra and the specification of a server."""
    monkeypatch.setattr(vllm, "find_spec", lambda _: None)
    with pytest.raises(ModelSpecError, match=r"kgbench\[vllm\].*vllm:m@http"):
        answer(vllm, setup_for("vllm", "m"))


def test_an_address_means_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an address, vLLM's server is used, with its own key and never with OpenAI's."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer(OpenAISpeech()) as server:
        reply = answer(vllm, setup_for("vllm", "org/model", server.url))

    assert reply.model == "org/model-2025-01-01"
    assert "authorization" not in server.ledger[0].headers


def test_a_template_of_the_model_goes_to_the_server(tmp_path: Path) -> None:
    """Template and thinking are parameters of each request; engine options are refused."""
    (tmp_path / "template.jinja").write_text("{{ messages }}", encoding="utf-8")
    options = {"chat_template": str(tmp_path / "template.jinja"), "enable_thinking": "false"}
    with LoopbackServer(OpenAISpeech()) as server:
        answer(vllm, setup_for("vllm", "org/model", server.url, options=options))
        body = server.ledger[0].body
        started = setup_for("vllm", "m", server.url, options={"tensor_parallel_size": 2})
        with pytest.raises(ModelSpecError, match="when it is started"):
            vllm.open(started, 1)

    assert body["chat_template"] == "{{ messages }}"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(("kind", "error"), FAILURES_AND_SILENCE.items())
def test_a_servers_failure_is_the_error_it_means(kind: str, error: type[ProviderError]) -> None:
    """A failure of the server is its usual error, which names the requested model."""
    with LoopbackServer(OpenAISpeech(), script=always(kind)) as server:
        setup = setup_for("vllm", "org/model", server.url)
        with pytest.raises(ProviderError, match="vllm:org/model") as raised:
            answer(vllm, setup, timeout=SHORT if kind == scripts.HANG else PATIENCE)

        assert error is type(raised.value)
        assert len(server.requests(1)) == 1


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (scripts.TRUNCATION, Outcome.TRUNCATED),
        (scripts.REFUSAL, Outcome.REFUSED),
        (scripts.FILTER, Outcome.REFUSED),
        (scripts.EMPTY_TEXT, None),
    ],
)
def test_a_servers_reason_is_kept(kind: str, outcome: Outcome | None) -> None:
    """The server's finish reason gives the outcome."""
    with LoopbackServer(OpenAISpeech(), script=always(kind)) as server:
        assert answer(vllm, setup_for("vllm", "m", server.url)).outcome is outcome


@pytest.mark.skipif(
    "VLLM_TEST_MODEL" not in os.environ, reason="VLLM_TEST_MODEL names no model for this machine"
)
def test_a_real_model_answers() -> None:
    """If vLLM and its accelerator are present, a batch of two is answered."""
    setup = setup_for(
        "vllm",
        os.environ["VLLM_TEST_MODEL"],
        options={"max_model_len": 2048, "enforce_eager": True},
    )

    async def talk() -> list[Reply]:
        async with vllm.open(setup, 600) as connector:
            return await asyncio.gather(*(connector.ask(asked(p)) for p in ("Say yes.", "Say no.")))

    assert all(reply.text and reply.usage.output for reply in asyncio.run(talk()))
