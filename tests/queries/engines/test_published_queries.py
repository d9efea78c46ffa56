# SPDX-License-Identifier: Apache-2.0
"""Any RDF store answers the published queries as Oxigraph does, without parameters filled in.

The data are a published quick start and the small graphs of the query tests, so that queries about
judges, reviews and policies have results as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.rdf import queries
from kgbench.rdf.query_examples import SITE_PATH
from kgbench.vocab import BASE, SH, SKOS
from tests.publish.checks.published_folder import unpacked
from tests.queries.engines import quirks
from tests.queries.engines.engines import ENGINES, Asked, Missing
from tests.queries.engines.rows import rows
from tests.support.analysis_store import GRAPHS
from tests.support.commands import printed as call

PATIENCE = 300  # seconds for one answer: many times the usual time
TEXT = "a-n-n-e"
NEEDING = {"search-answers": TEXT, "dialogues-with-text": TEXT}
"""What has its parameter in an expression, and so answers nothing unless it is filled in."""
OTHERS = [
    pytest.param("Oxigraph server", marks=pytest.mark.servers),
    "Jena",
    pytest.param("Virtuoso", marks=pytest.mark.servers),
    "rdflib",
]


def texts(site: Path) -> dict[str, str]:
    """Return the published queries, by name."""
    published = ox.Store()
    published.load(path=f"{site / SITE_PATH}.ttl", format=ox.RdfFormat.TURTLE)
    found = {}
    for quad in published.quads_for_pattern(None, ox.NamedNode(SH.select), None):
        notation = ox.NamedNode(SKOS.notation)
        (name,) = published.quads_for_pattern(quad.subject, notation, None)
        found[name.object.value] = quad.object.value
    return found


@pytest.fixture(scope="module")
def site(quick_start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the published quick start."""
    folder = tmp_path_factory.mktemp("quick-start") / "site"
    about = ("--licence", "CC-BY-4.0", "--creator", "Ann Example")
    base = "https://example.org/bench/"
    call("publish", "--store", quick_start, "--out", folder, "--base", base, *about)
    return folder


@pytest.fixture(scope="module")
def dump(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the dump of the quick start and the small graphs, in N-Quads."""
    found = {}
    for path in sorted(GRAPHS.glob("*.trig")):
        quads = ox.parse(path=str(path), format=ox.RdfFormat.TRIG, base_iri=BASE)
        found |= dict.fromkeys(quads)
    small = ox.serialize(found, format=ox.RdfFormat.N_QUADS)
    assert small is not None
    file = tmp_path_factory.mktemp("dump") / "all.nq"
    file.write_bytes(unpacked(site / "data/all.nq.zst") + small)
    return file


@pytest.fixture(scope="module")
def asked(site: Path) -> dict[str, str]:
    """Return the queries, with the few values that they require."""
    found = texts(site)
    assert set(found) == set(queries.names())
    for name, text in NEEDING.items():
        assert "# PARAMETERS" in found[name]
        found[name] = found[name].replace("# PARAMETERS", f'VALUES ?text {{ "{text}" }}')
    examples = {f"quirk-{name}": quirk.example for name, quirk in quirks.QUIRKS.items()}
    return found | examples


@pytest.fixture(scope="module")
def answered(
    dump: Path, asked: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Asked]:
    """Return a function from an engine to its answers; each engine runs once."""
    known: dict[str, Asked] = {}

    def answer(name: str) -> Asked:
        if name not in known:
            work = tmp_path_factory.mktemp("engine")
            try:
                known[name] = ENGINES[name](dump, asked, work, PATIENCE)
            except Missing as missing:
                pytest.skip(str(missing))
        return known[name]

    return answer


def test_every_query_finds_something(answered: Callable[[str], Asked]) -> None:
    """The data contain an answer to every query, so that rows are compared."""
    found = answered("Oxigraph").answers
    empty = {name for name, one in found.items() if one.error or not rows(one.content)}
    assert {name for name in empty if not name.startswith("quirk-")} == set()


@pytest.mark.parametrize("engine", OTHERS)
def test_answers_are_those_of_oxigraph(engine: str, answered: Callable[[str], Asked]) -> None:
    """Every published query gives the same rows in another engine."""
    right, found = answered("Oxigraph").answers, answered(engine).answers
    names = [name for name in right if not name.startswith("quirk-")]
    assert {name: found[name].error for name in names if found[name].error} == {}
    differences = {}
    for name in names:
        wanted = quirks.expected(engine, rows(right[name].content))
        given = quirks.given(engine, rows(found[name].content))
        if wanted != given:
            differences[name] = (list(wanted - given)[:3], list(given - wanted)[:3])
    assert differences == {}


@pytest.mark.parametrize("engine", OTHERS)
def test_exceptions_are_needed(engine: str, answered: Callable[[str], Asked]) -> None:
    """Each exception is needed: its engine still deviates, and no other one does."""
    found = answered(engine).answers
    for name, quirk in quirks.QUIRKS.items():
        wanted = quirk.given if quirk.engine == engine else quirk.right
        assert rows(found[f"quirk-{name}"].content) == wanted, quirk.reason
