# SPDX-License-Identifier: Apache-2.0
"""The real engine with a model of random weights: answers, limits, and what follows a kill."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.config.specs import model_setup
from kgbench.connectors import local
from kgbench.connectors.local import Managed
from kgbench.errors import ContextTooLong, ModelSpecError, ProviderError, ProviderRefused
from kgbench.model import Outcome, Reply, Request
from tests.connectors import CASE, PATIENCE

Step = Callable[[Managed], Awaitable[object]]


def ask(model: Managed, text: str = "hello") -> Awaitable[object]:
    """Make one call."""
    return model.ask(Request((text,), CASE, "0"))


def with_model(
    path: Path, steps: Step, end: str = "max_tokens=5&threads=1&temperature=0"
) -> object:
    """Do ``steps`` with the model while its engine runs."""

    async def work() -> object:
        setup = model_setup(f"local:{path}?{end}")
        async with local.open(setup, PATIENCE) as model:
            return await steps(model)

    return asyncio.run(work())


def killed(model: Managed) -> None:
    """Kill the engine."""
    assert model._engine._process is not None
    os.kill(model._engine._process.pid, signal.SIGKILL)


def test_a_local_model_answers(tiny: Path) -> None:
    """An answer ends at its limit, and names the engine and the model, not the file's folder."""
    reply = with_model(tiny, ask)

    assert (reply.model, reply.outcome, reply.usage.output) == ("tiny", Outcome.TRUNCATED, 5)
    assert reply.fingerprint.startswith("xllamacpp ")
    assert reply.fingerprint.endswith(", 1 threads")


def test_a_prompt_beyond_the_context_is_told_apart(tiny: Path) -> None:
    """The engine refuses what does not fit, and is not asked again."""
    with pytest.raises(ContextTooLong):
        with_model(tiny, lambda model: ask(model, "many words " * 100), "context=256&threads=1")


def test_the_engine_is_started_once_more(tiny: Path) -> None:
    """After a kill the next call is answered; after a second one none is made."""

    async def steps(model: Managed) -> None:
        killed(model)
        with pytest.raises(ProviderError, match=r"SIGKILL.*started again") as first:
            await ask(model)
        assert not isinstance(first.value, ProviderRefused)
        assert (await ask(model)).usage.output == 5
        killed(model)
        for _ in range(2):
            with pytest.raises(ProviderRefused, match="local:tiny: the engine ended"):
                await ask(model)

    with_model(tiny, steps)


def test_several_calls_outlive_the_end_of_their_engine(tiny: Path) -> None:
    """All calls under way fail with the same reason; a call that asks why may be late."""

    async def steps(model: Managed) -> None:
        calls = [asyncio.ensure_future(ask(model, "word " * 500)) for _ in range(4)]
        await asyncio.sleep(0)
        killed(model)
        for error in await asyncio.gather(*calls, return_exceptions=True):
            assert re.search("SIGKILL.*started again", str(error))
        killed(model)
        late = asyncio.create_task(model._engine.death())
        await asyncio.sleep(0)
        await model._engine.stop()
        assert (await late or "").startswith("the engine ended")

    with_model(tiny, steps)


def test_a_run_names_the_end_of_its_engine(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill costs a request, and the summary says why."""
    real = Managed.ask

    async def ask_killed(model: Managed, request: Request) -> Reply:
        if model.restarted is None:
            killed(model)
        return await real(model, request)

    monkeypatch.setattr(Managed, "ask", ask_killed)
    words = ["run", "--model", f"local:{tiny}?max_tokens=8&threads=1", "--no-preflight", "-n", "1"]
    words += ["--task", "RdfFriendCount-nt-1", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, words)

    assert "1 of 1 dialogue complete (1 now), 0 failed, 1 call (2 requests)" in done.output
    assert "the engine ended (SIGKILL) and was started again" in done.stderr


def test_an_engine_that_cannot_be_started_again_is_a_named_failure(
    tiny: Path, tmp_path: Path
) -> None:
    """If the file has gone when the engine dies, calls are refused with the reason."""
    path = tmp_path / "gone.gguf"
    path.write_bytes(tiny.read_bytes())

    async def steps(model: Managed) -> None:
        path.unlink()
        killed(model)
        for _ in range(2):
            with pytest.raises(ProviderRefused, match="local:gone: "):
                await ask(model)

    with_model(path, steps)


def test_the_engine_ends_with_the_connector(tiny: Path) -> None:
    """No process is left."""

    async def steps(model: Managed) -> int:
        assert model._engine._process is not None
        return model._engine._process.pid

    with pytest.raises(ProcessLookupError):
        os.kill(with_model(tiny, steps), 0)


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    """A file in another format is refused before an engine is started."""
    path = tmp_path / "other.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelSpecError, match="not a readable file"):
        model_setup(f"local:{path}")


def test_a_model_that_cannot_be_loaded_is_named(tiny: Path, tmp_path: Path) -> None:
    """A file that is cut off is refused by the engine, which then ends."""
    path = tmp_path / "cut.gguf"
    path.write_bytes(tiny.read_bytes())
    setup = model_setup(f"local:{path}")
    path.write_bytes(tiny.read_bytes()[:4000])

    async def enter() -> None:
        async with local.open(setup, PATIENCE):
            pass

    with pytest.raises(ModelSpecError, match="cannot be loaded"):
        asyncio.run(enter())


def test_a_run_records_the_file(tiny: Path, tmp_path: Path) -> None:
    """The model in the store has the digest of its file, and nothing has the file's folder."""
    store = str(tmp_path / "store")
    spec = f"local:{tiny}?max_tokens=8&threads=1"
    words = ["run", "--model", spec, "--task", "RdfFriendCount-nt-1", "-n", "1", "--store", store]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "$0.00" in done.output

    shown = CliRunner().invoke(app, ["models", "show", "tiny", "--store", store])
    assert model_setup(spec).file["digest"] in shown.output
    assert str(tiny.parent) not in shown.output


def test_the_first_call_tells_what_comes(tiny: Path, tmp_path: Path) -> None:
    """The first answer is shown, and which prompts do not fit, before a dialogue begins.

    The prompt has four characters for each token of the context, and real models count more tokens.
    """
    words = ["run", "--model", f"local:{tiny}?max_tokens=8&threads=1&context=256", "-n", "1"]
    words += ["--task", "RdfFriendCount-turtle-1", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, words)
    assert "first answer after " in done.stderr
    assert "the prompts of RdfFriendCount-turtle-1 may be too long for tiny?" in done.stderr, (
        done.stderr
    )
    assert "whose conversations have 256 tokens (option context)" in done.stderr
