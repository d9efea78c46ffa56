# SPDX-License-Identifier: Apache-2.0
"""Dialogues with the tools of an MCP server are published completely, with the server."""

from __future__ import annotations

from urllib.parse import quote

import pyoxigraph as ox
import pytest

from kgbench.publish.documents import Documents
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import open_reader
from kgbench.vocab import KGB, RDF, SCHEMA
from tests.publish.conftest import BASE, command, publish
from tests.publish.reading import dump
from tests.publish.test_round_trip import taken
from tests.support.servers.mcp_over_http import McpOverHttp
from tests.support.tool_runs import held
from tests.support.validation import assert_conforms

VARIABLE, TOKEN = "AVIARY_TOKEN", "swordfish-swordfish-swordfish"
CONFIGURATION = """\
name: aviary
iterations: 1
tasks: [Text2SparqlToolsOrganizational-tools]
models:
  - label: with an aviary
    spec: "{spec}"
"""
SERVER = ox.NamedNode(KGB.ToolServer)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a store with a dialogue whose tool server repeats its token."""
    place = tmp_path_factory.mktemp("served") / "store"
    written = place.with_name("aviary.yaml")
    with McpOverHttp() as server:
        spec = f"baseline:searcher?mcp={quote(server.url, safe='')}&mcpVariables={VARIABLE}"
        written.write_text(CONFIGURATION.format(spec=spec), "utf-8")
        words = ("run", written, "--store", place, "--allow-secret", VARIABLE)
        command(*words, env={VARIABLE: TOKEN})
    return place


@pytest.fixture(scope="module")
def site(served, tmp_path_factory):
    """Publish the store and return the folder."""
    out = tmp_path_factory.mktemp("site") / "bench"
    publish(served, out, level=RedactionLevel.NONE)
    return out


def test_the_server_is_published(site):
    """The server has a published IRI, which leads to a page with its name."""
    quads = dump(site, "all.nq")
    (iri,) = {q.subject.value for q in quads if (q.predicate.value, q.object) == (RDF.type, SERVER)}
    assert iri.startswith(BASE)
    path = Documents(BASE, BASE).place(iri).path
    said = {(q.subject.value, q.predicate.value) for q in ox.parse(path=str(site / f"{path}.ttl"))}
    assert (iri, SCHEMA.softwareVersion) in said
    assert "aviary" in (site / path / "index.html").read_text("utf-8")


def test_the_publication_conforms(site):
    """The check of the publication finds no faults."""
    assert "no faults" in command("publish", "--check", site)


def test_it_comes_back(served, site, tmp_path):
    """An import restores the recorded calls with their server."""
    taken(site, tmp_path / "store")
    with open_reader(str(served)) as before, open_reader(str(tmp_path / "store")) as after:
        (recorded,), (imported,) = held(before), held(after)
        assert_conforms(after)
    uses = [use for turn in recorded.turns for use in turn.uses]
    assert [use.server.name for use in uses if use.server is not None] == ["aviary"]
    assert [use for turn in imported.turns for use in turn.uses] == uses


@pytest.mark.parametrize("kept", [TOKEN, "127.0.0.1"])
def test_nothing_private_is_published(site, kept):
    """Neither the token, which the server repeats, nor the server's local address is published."""
    files = [path.read_text("utf-8", "replace") for path in site.rglob("*") if path.is_file()]
    assert any("[hidden]" in text for text in files)
    assert not any(kept in text for text in files)
