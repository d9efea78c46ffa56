# SPDX-License-Identifier: Apache-2.0
"""Stores to publish, and their publications."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgbench.pages import things
from kgbench.publish import site as publishing
from kgbench.publish.documents import Documents
from kgbench.publish.folder import claimed
from kgbench.publish.redact import prepare_rules
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.selection import select_parts
from kgbench.publish.settings import Agent, DatasetDescription, Settings
from kgbench.publish.site import publish as publish_site
from kgbench.vocab import BASE as STORE
from tests.serve import stores
from tests.support.commands import printed as command

BASE = "https://example.org/bench/"
ABOUT = DatasetDescription(
    licence="https://spdx.org/licenses/CC-BY-4.0",
    creators=(Agent("Ada Example", "https://orcid.org/0000-0002-1825-0097"),),
)
RUN = ["-m", "baseline:oracle", "-m", "baseline:noisy?rate=0.5&seed=3", "--iterations", "2"]
TASKS = ["RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle", "Text2SparqlExecEvalListCoypuMini"]


def publish(location, out, **settings):
    """Publish in this process and return the report."""
    given = {"metadata": ABOUT, "base": BASE, "processes": 1, **settings}
    return publish_site(Settings(str(location), out, **given), lambda *_: None)


def addresses(location, level=RedactionLevel.GOLD):
    """Return the published addresses of a store."""
    view = things.open_newest(Path(location) / "snapshots", STORE)
    settings = Settings(str(location), Path(location), base=BASE)
    runs = select_parts(view, settings).runs_of_passes
    return prepare_rules(view, str(location), BASE, level, runs)[1]


def left_out(location):
    """Return the IRIs in the catalogue of a store that no publication needs."""
    view = things.open_newest(Path(location) / "snapshots", STORE)
    return select_parts(view, Settings(str(location), Path(location), base=BASE)).unused


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Return a store with one run of two baselines on three tasks."""
    place = tmp_path_factory.mktemp("recorded") / "store"
    chosen = [word for task in TASKS for word in ("-t", task)]
    command("run", "--store", place, *RUN, *chosen)
    return place


@pytest.fixture(scope="session")
def site(recorded, tmp_path_factory):
    """Publish the store with default settings and return the folder."""
    out = tmp_path_factory.mktemp("site") / "bench"
    publish(recorded, out, endpoint="https://example.org/sparql")
    return out


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """Return a hand-written store with hostile texts and names; one run is protected."""
    texts = dict.fromkeys(("a-n-n-e", "by hand", "Mend this:\n:a :b .", "Parrot"), stores.HOSTILE)
    return stores.make(tmp_path_factory.mktemp("hostile") / "store", texts=texts)


@pytest.fixture(scope="session")
def hostile_site(hostile, tmp_path_factory):
    """Publish the hostile store with its protected suite in the clear, and return the folder."""
    out = tmp_path_factory.mktemp("hostile-site") / "bench"
    publish(hostile, out, unprotected=frozenset({"llm-kg-bench-3"}))
    return out


@pytest.fixture
def folder(tmp_path):
    """Yield an empty folder that a publication owns."""
    with claimed(tmp_path / "site") as found:
        yield found


@pytest.fixture
def quick(monkeypatch):
    """Publish without the constant parts of every publication: declarations and figures."""
    hasten(monkeypatch)


def hasten(monkeypatch):
    """Apply the fixture ``quick`` with a given patch."""
    whole = Documents.of
    kept = (
        *("run", "pass", "model", "invalidation", "suite", "case", "thing", "software"),
        "reviewer",
    )

    def documents(*arguments):
        found = whole(*arguments).items()
        return {place: iris for place, iris in found if place.partition("/")[0] in kept}

    monkeypatch.setattr(Documents, "of", documents)
    monkeypatch.setattr(publishing, "figures", lambda *_: iter(()))
