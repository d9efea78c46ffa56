# SPDX-License-Identifier: Apache-2.0
"""Models that change behind their name: what summary and status say about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench.analysis.run_results import identity_changes, is_same_model
from kgbench.cli import app
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.store import open_store
from tests.support.archives import as_json, record_v3
from tests.support.runs import hold, planned
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

TASK = "RdfFriendCount-nt-1"


class Renamed(OpenAISpeech):
    """A server that answers with another model, the next of ``names`` for each request."""

    def __init__(self, *names):
        super().__init__()
        self._names = list(names)

    def respond(self, entry, behaviour, answer):
        """Word a response, and change the name of the model in it."""
        response = super().respond(entry, behaviour, answer)
        name = self._names.pop(0) if len(self._names) > 1 else self._names[0]
        return response._replace(body={**response.body, "model": name})


def plan_of(server, iterations=2, name="moved"):
    """Return a plan with one name for each server, as a configuration would have it."""
    spec = f"openai:small@{server.url}"
    return replace(planned(TASK, spec, iterations=iterations), name=name)


def said(store):
    """Return the lines about the newest run."""
    return identity_changes(store, reading.runs(store)[0])


@pytest.mark.parametrize(
    ("asked", "answering"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("openai/GPT-4o", "gpt-4o-2024-08-06"),
        ("gpt-3.5-turbo", "gpt-3.5-turbo-0125"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("mistral-large-latest", "mistral-large-2411"),
        ("gemini-1.5-flash", "models/gemini-1.5-flash-001"),
        ("claude-sonnet-4", "claude-sonnet-4@20250514"),
    ],
)
def test_a_dated_snapshot_is_the_same_model(asked, answering):
    """Aliases lead to snapshots; providers and folders before the name do not count."""
    assert is_same_model(asked, answering)


@pytest.mark.parametrize(
    ("asked", "answering"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("llama3:8b", "llama3:70b"),
        ("deepseek-r1", "deepseek-r1-distill-qwen-7b"),
        ("gpt-4o", ""),
    ],
)
def test_another_model_is_another_model(asked, answering):
    """A smaller or later model is not what was asked."""
    assert not is_same_model(asked, answering)


def test_another_answering_model_is_said_in_summary_and_status(tmp_path):
    """One line in both, with the names and how many answers each gave."""
    location = str(tmp_path / "store")
    with LoopbackServer(Renamed("small-mini")) as server:
        words = ["run", "--store", location, "--no-preflight", "-t", TASK, "-n", "2"]
        done = CliRunner().invoke(app, [*words, "-m", f"openai:small@{server.url}"])
    status = CliRunner().invoke(app, ["status", "--store", location])

    line = "small was asked as 'small', but another model answered: small-mini (2)"
    assert f"warning  {line}" in done.output
    assert line in status.output


def test_several_answering_models_are_said():
    """A snapshot that changes during a run is said, also if each is the model asked for."""
    speech = Renamed("small-2025-01-01", "small-2025-06-01")
    with open_store("memory:") as store, LoopbackServer(speech) as server:
        hold(store, plan_of(server, iterations=3))
        (line,) = said(store)

    assert line.endswith("several models answered: small-2025-01-01 (1), small-2025-06-01 (2)")


def test_an_unchanged_model_needs_no_line():
    """A snapshot of the model at one address is as expected, in two sessions, too."""
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech()) as server:
        for iterations in (2, 3):
            hold(store, plan_of(server, iterations))
        assert said(store) == []


@pytest.mark.parametrize("in_one_run", [True, False], ids=["in one run", "in two runs"])
def test_several_addresses_are_said(in_one_run):
    """A table over the store would take the models at both addresses for one."""
    with (
        open_store("memory:") as store,
        LoopbackServer(OpenAISpeech()) as one,
        LoopbackServer(OpenAISpeech()) as other,
    ):
        hold(store, plan_of(one, name="first"))
        assert said(store) == []
        if in_one_run:
            hold(store, plan_of(other, iterations=3, name="first"))
        else:
            hold(store, plan_of(other, name="second"), run=None)
        urls = ", ".join(sorted([one.url, other.url]))
        assert said(store) == [f"small has several addresses in this store: {urls}"]


def test_an_imported_run_has_no_changes():
    """An imported run has no sessions, and no model that was called at several addresses."""
    with open_store("memory:") as store:
        (imported,) = read_runs(ResultFile("f.json", as_json([record_v3()])), store.iris)
        load(store, imported)
        (run,) = reading.runs(store)
        assert identity_changes(store, run) == []
