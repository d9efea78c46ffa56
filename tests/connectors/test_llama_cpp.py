# SPDX-License-Identifier: Apache-2.0
"""The recipe of llama.cpp in ``docs/connectors.md``, against llama-cpp-python's server."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import ContextTooLong
from tests import documented
from tests.connectors import answer, setup_for
from tests.support.servers import foreign

PAGE = documented.page("connectors.md")
FILES = {step.name: step.text for step in documented.steps(PAGE)}
(VERSION,) = set(re.findall(r"real server, llama-cpp-python ([\d.]+)", PAGE))
REQUIREMENTS = f"'llama-cpp-python[server]=={VERSION}' gguf"

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a server with a model of random weights and a context of 8,192 tokens.

    The server must be installed, because compiling it takes too long for a test.
    """
    python = foreign.environment("llama-cpp") / "python"
    if not python.exists():
        pytest.skip(
            "llama-cpp-python is not there: python -m venv build/llama-cpp && "
            f"build/llama-cpp/bin/pip install {REQUIREMENTS} (compiles for some minutes)"
        )
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    folder = tmp_path_factory.mktemp("llama-cpp")
    model, script = folder / "tiny.gguf", Path(foreign.__file__).with_name("tiny_gguf.py")
    subprocess.run([python, script, model], check=True)
    port = documented.free_port()
    root = f"http://127.0.0.1:{port}"
    words = ["--model", model, "--n_ctx", "8192", "--host", "127.0.0.1", "--port", str(port)]
    command = [python, "-m", "llama_cpp.server", *words]
    with foreign.serving(command, f"{root}/v1/models", folder / "log"):
        yield root


def test_the_recipe_runs(server, tmp_path):
    """The recipe completes its dialogues; the server respects the limit of tokens."""
    text = FILES["llama-cpp.yaml"].replace("http://127.0.0.1:8080", server)
    text = text.replace("max_tokens=2000", "max_tokens=20")
    assert server in text
    assert "max_tokens=20\n" in text
    (tmp_path / "recipe.yaml").write_text(text)
    words = ["run", str(tmp_path / "recipe.yaml"), "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, [*words, "--task", "RdfFriendCount-nt-1", "-n", "2"])

    assert done.exit_code == 0, done.output
    assert f"first call: {server}/v1, model 'my-model', without a key" in done.stderr
    assert "2 of 2 dialogues complete" in done.output


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_the_address_may_have_its_version(server, end):
    """The server accepts an address with and without a version and a slash, and counts tokens."""
    from kgbench.connectors import openai

    setup = setup_for("openai", "tiny", f"{server}{end}", sampling={"max_tokens": 5})
    usage = answer(openai, setup).usage

    assert usage.input
    assert 1 <= (usage.output or 0) <= 6


def test_a_prompt_beyond_the_context_is_told_apart(server):
    """The server's error about a long prompt is recognised, and not retried."""
    from kgbench.connectors import openai

    with pytest.raises(ContextTooLong):
        answer(openai, setup_for("openai", "tiny", server), "many words " * 2000)
