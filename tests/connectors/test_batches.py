# SPDX-License-Identifier: Apache-2.0
"""Rare responses of batch interfaces: batches of others, empty lines, missing ids."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kgbench.connectors.batches import Batches, BatchRequest, BatchStatus, open_batches
from kgbench.errors import ProviderError, ProviderTimeout
from kgbench.model import Outcome, Reply
from tests.connectors import PATIENCE, asked, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, Response
from tests.support.servers.replies import Prepared

NOW = datetime.now(UTC)
FILTERED = Response(400, {"error": {"code": "content_filter", "message": "not this"}})
#: The responses before a batch is created: OpenAI's requests are uploaded first.
BEFORE = {"openai": [{"id": "file-1"}], "anthropic": []}
ENDED = BatchStatus("completed", 2, None, ("file-out",))


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-openai-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-anthropic-0123456789")


def _served(kind: str, *responses: Any, script: scripts.Script | None = None) -> LoopbackServer:
    prefix = "/v1" if kind == "openai" else ""
    return LoopbackServer(Prepared(*responses, prefix=prefix), script=script)


def _with(
    kind: str,
    server: LoopbackServer,
    work: Callable[[Batches], Awaitable[Any]],
    timeout: float = PATIENCE,
) -> Any:
    """Return the result of ``work`` with the batches of a model on ``server``."""

    async def talk() -> Any:
        async with open_batches(setup_for(kind, "m", server.url), timeout) as batches:
            return await work(batches)

    return asyncio.run(talk())


async def _results(batches: Batches) -> list[tuple[str, Reply | ProviderError]]:
    return [tuple(one) async for one in batches.results("b1", ENDED)]


def _lines(*lines: Any) -> bytes:
    """Return JSON lines, a blank one after the first, and no line end after the last."""
    first, *rest = (json.dumps(line) for line in lines)
    return "\n".join([first, " ", *rest]).encode()


def _anthropic(number: str, size: int = 2, status: str = "ended", **rest: Any) -> dict[str, Any]:
    counts = {"processing": 0, "succeeded": size}
    about = {"id": number, "processing_status": status, "request_counts": counts}
    return {**about, "created_at": NOW.isoformat(), "results_url": "{root}/r", **rest}


def _found_by_anthropic(others: tuple[str, ...], *responses: Any) -> tuple[Any, list[str]]:
    """Return the batch that is found for a token, and the requested paths."""
    with _served("anthropic", *responses) as server:
        told = json.loads(json.dumps(responses).replace("{root}", server.root))
        server._speech._responses[:] = [one or b"" for one in told]  # type: ignore[attr-defined]
        found = _with("anthropic", server, lambda b: b.find("token", 2, NOW, others))
    return found, [entry.path for entry in server.ledger]


def test_anthropics_batches_are_told_by_the_names_in_their_results() -> None:
    """Other batches of the same size and time, with and without results, are passed over."""
    others, empty, ours = (_anthropic(name) for name in ("other", "empty", "ours"))
    undated = _anthropic("known", created_at=None)
    larger = _anthropic("larger", 3)
    found, paths = _found_by_anthropic(
        ("known",),
        {"data": [undated, larger, others, empty], "has_more": True},
        others,
        {"custom_id": "another-token-1", "result": {}},
        empty,
        "",
        {"data": [ours], "has_more": False},
        ours,
        {"custom_id": "token-1", "result": {}},
    )

    assert found == "ours"
    pages = [path for path in paths if "limit=" in path]
    assert ["after_id=empty" in path for path in pages] == [False, True]


def test_anthropics_old_batches_end_the_search() -> None:
    """The search ends at the first batch that is much older than the submission."""
    old = _anthropic("old", created_at="2020-01-01T00:00:00")  # without a time zone
    found, paths = _found_by_anthropic((), {"data": [old, _anthropic("older")], "has_more": True})

    assert found is None
    assert len(paths) == 1


def test_openais_batches_are_told_by_their_token() -> None:
    """The pages are searched until the token is found, or all batches are too old."""
    made = time.time()
    pages: list[dict[str, Any]] = [
        {"data": [{"id": "b2", "created_at": made, "metadata": None}], "has_more": True},
        {"data": [{"id": "b1", "created_at": 1, "metadata": {"kgbench": "t"}}], "has_more": True},
    ]
    for token, expected in (("t", "b1"), ("another", None)):
        with _served("openai", *pages) as server:
            found = _with("openai", server, lambda b, token=token: b.find(token, 1, NOW, ()))

        assert found == expected
        assert ["after=b2" in entry.path for entry in server.ledger] == [False, True]


@pytest.mark.parametrize("kind", BEFORE)
def test_a_batch_without_an_id_is_an_error(kind: str) -> None:
    """A response without the id of a new batch is an error, so that the batch is searched later."""
    with _served(kind, *BEFORE[kind], {"object": "batch"}) as server:
        one = BatchRequest("token-1", asked())
        with pytest.raises(ProviderError, match="names no id"):
            _with(kind, server, lambda b: b.submit("token", [one]))


@pytest.mark.parametrize("kind", BEFORE)
def test_a_batch_can_be_cancelled(kind: str) -> None:
    """Cancelling is one call, which names the batch."""
    with _served(kind, {"id": "b1"}) as server:
        _with(kind, server, lambda b: b.cancel("b1"))

    assert [entry.path.rpartition("/batches/")[2] for entry in server.ledger] == ["b1/cancel"]


def test_openais_results_are_those_that_are_named() -> None:
    """Blank lines and lines without a request's name are skipped; a filtered one is a refusal."""
    refused = {"status_code": 400, "body": FILTERED.body}
    body = _lines({"response": refused}, {"custom_id": "t-1", "response": refused}, 7)
    with _served("openai", body) as server:
        ((name, reply),) = _with("openai", server, _results)

    assert (name, reply.outcome, reply.finish_reason) == ("t-1", Outcome.REFUSED, "content_filter")


def test_anthropics_results_are_those_that_are_named() -> None:
    """Blank lines and lines without a request's name are skipped."""
    lost = {"type": "something new"}
    with _served("anthropic") as server:
        batch = {**_anthropic("b1"), "results_url": f"{server.root}/r"}
        body = _lines({"result": lost}, {"custom_id": "t-1", "result": lost})
        server._speech._responses[:] = [batch, body]  # type: ignore[attr-defined]
        ((name, error),) = _with("anthropic", server, _results)

    assert (name, type(error)) == ("t-1", ProviderError)
    assert "anthropic:m" in str(error)
    assert "the request was something new" in str(error)


def test_anthropics_results_have_an_address() -> None:
    """A batch without an address of its results is an error, and no request counts as answered."""
    with (
        _served("anthropic", _anthropic("b1", results_url=None)) as server,
        pytest.raises(ProviderError, match=r"anthropic:m.*results_url"),
    ):
        _with("anthropic", server, _results)


def test_results_that_never_come_are_late() -> None:
    """A download of results that stalls is a timeout, not an end of the results."""
    with (
        _served("openai", script=scripts.always(scripts.HANG)) as server,
        pytest.raises(ProviderTimeout, match=r"no answer within 0\.3 s"),
    ):
        _with("openai", server, _results, timeout=0.3)


def test_calls_about_batches_that_a_filter_refuses_are_errors() -> None:
    """An upload or download that a filter refuses is an error, so that no result is lost."""
    one = BatchRequest("token-1", asked())
    with _served("openai", FILTERED, FILTERED) as server:
        with pytest.raises(ProviderError, match=r"openai:m.*refused by a filter"):
            _with("openai", server, lambda b: b.submit("token", [one]))
        with pytest.raises(ProviderError, match=r"openai:m.*refused by a filter"):
            _with("openai", server, _results)
