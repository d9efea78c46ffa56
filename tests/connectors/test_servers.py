# SPDX-License-Identifier: Apache-2.0
"""The loopback servers themselves: other tests depend on what they report."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kgbench.connectors import openai
from kgbench.errors import ProviderError, RateLimited
from kgbench.model import Reply
from tests.connectors import PATIENCE, asked, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech


def _ask_all(server: LoopbackServer, prompts: list[str]) -> list[Reply | BaseException]:
    async def talk() -> list[Reply | BaseException]:
        async with openai.open(setup_for("openai", "m", server.url), PATIENCE) as connector:
            calls = (connector.ask(asked(prompt)) for prompt in prompts)
            return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(talk())


def test_a_hidden_limit_holds() -> None:
    """A server never answers more requests at once than its hidden limit; others get a 429."""
    with LoopbackServer(OpenAISpeech(), script=scripts.limited(4, delay=0.1)) as server:
        replies = _ask_all(server, [f"prompt {k}" for k in range(20)])

    answered = [reply for reply in replies if isinstance(reply, Reply)]
    assert len(answered) == len(server.acknowledged) >= 4
    assert all(isinstance(r, RateLimited) for r in replies if not isinstance(r, Reply))
    assert all(entry.parallel <= 4 for entry in server.acknowledged)


def test_the_ledger_counts_what_the_client_was_charged() -> None:
    """The tokens of the ledger equal those of the replies; failures charge nothing."""
    script = scripts.sequence(scripts.SERVER_ERROR, scripts.CUT, scripts.RATE_LIMIT)
    with LoopbackServer(OpenAISpeech(), script=script) as server:
        replies = [_ask_all(server, ["prompt"])[0] for _ in range(6)]

    told = [reply.usage for reply in replies if isinstance(reply, Reply)]
    charged = [entry.usage for entry in server.acknowledged]
    assert [{"input": usage.input, "output": usage.output} for usage in told] == charged
    assert len(charged) == 3
    assert sum(isinstance(reply, ProviderError) for reply in replies) == 3
    ids = [reply.request_id for reply in replies if isinstance(reply, Reply)]
    assert ids == [entry.request_id for entry in server.acknowledged]


def test_a_server_leaves_nothing_behind() -> None:
    """A stopped server has closed its sockets, even with hanging requests."""
    before = _descriptors()
    with LoopbackServer(OpenAISpeech(), script=scripts.always(scripts.HANG)) as server:
        setup = setup_for("openai", "m", server.url)

        async def abandoned() -> None:
            async with openai.open(setup, 5.0) as connector:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(connector.ask(asked("a")), 0.2)

        asyncio.run(abandoned())
    assert _descriptors() <= before + 1


def _descriptors() -> int:
    """Return the number of open files and sockets of this process, if it can be counted."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0
