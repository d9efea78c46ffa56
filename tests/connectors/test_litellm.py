# SPDX-License-Identifier: Apache-2.0
"""The recipes of LiteLLM in ``docs/connectors.md``, against a LiteLLM proxy."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.connectors import find
from kgbench.store import open_reader
from kgbench.vocab import PROV
from tests import documented
from tests.connectors import answer, setup_for
from tests.support.servers import foreign

PAGE = documented.page("connectors.md")
FILES = {step.name: step.text for step in documented.steps(PAGE)}
KEY = "sk-planted-0123456789abcdef"
ROUTES = {"openai": "openai", "anthropic": "anthropic", "google": "google.genai"}

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """Yield a proxy with the configuration and the version of the page."""
    (version,) = set(re.findall(r"real server, LiteLLM ([\d.]+)", PAGE))
    programs = foreign.installed("litellm", f"litellm[proxy]=={version}")
    folder = tmp_path_factory.mktemp("litellm")
    (folder / "proxy.yaml").write_text(FILES["proxy.yaml"])
    port = documented.free_port()
    root = f"http://127.0.0.1:{port}"
    words = ["--config", folder / "proxy.yaml", "--host", "127.0.0.1", "--port", str(port)]
    variables = {"LITELLM_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    url = f"{root}/health/liveliness"
    with foreign.serving([programs / "litellm", *words], url, folder / "log", **variables):
        yield root


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    """Return each route of the proxy in turn, with its key set."""
    pytest.importorskip(ROUTES[request.param], reason="an extra of kgbench is not installed")
    monkeypatch.setenv("LITELLM_KEY", KEY)
    return request.param


def run(proxy, route, folder):
    """Run the recipe of a route and return its result."""
    text = FILES[f"litellm-{route}.yaml"].replace("http://127.0.0.1:4000", proxy)
    assert proxy in text
    (folder / "recipe.yaml").write_text(text)
    store = str(folder / "store")
    words = ["run", str(folder / "recipe.yaml"), "--store", store, "--allow-secret", "LITELLM_KEY"]
    return CliRunner().invoke(app, words)


def test_the_recipe_runs(proxy, route, tmp_path):
    """Each recipe completes its dialogues, and the proxy's answers are in the store."""
    done = run(proxy, route, tmp_path)

    assert done.exit_code == 0, done.output
    assert f"first call: {proxy}/v1" in done.stderr
    assert "model 'small', with a key" in done.stderr
    assert "2 of 2 dialogues complete" in done.output
    assert KEY not in done.output
    with open_reader(str(tmp_path / "store")) as store:
        rows = store.query(f"SELECT ?text {{ GRAPH ?g {{ ?answer <{PROV.value}> ?text }} }}")
        assert "3" in {row["text"].value for row in rows}


@pytest.mark.parametrize("end", ["", "/", "/{version}", "/{version}/"])
def test_the_address_may_have_its_version(proxy, route, end):
    """The proxy accepts an address with and without a version and a slash."""
    version = "v1beta" if route == "google" else "v1"
    module = find(route)
    url = f"{proxy}{end.format(version=version)}"
    setup = setup_for(route, "small", url, options={"key_env": "LITELLM_KEY"})

    assert answer(module, setup).text == "3"


def test_a_wrong_key_is_told_before_anything_is_written(proxy, route, tmp_path, monkeypatch):
    """A wrong key ends the run at the first call; the error names the address and hides the key."""
    wrong = "sk-wrong-fedcba9876543210"
    monkeypatch.setenv("LITELLM_KEY", wrong)
    done = run(proxy, route, tmp_path)

    assert done.exit_code != 0
    said = str(done.exception)
    assert f"the first call failed: {proxy}/v1" in said
    assert "nothing was asked or written" in said
    assert wrong not in said + done.output
