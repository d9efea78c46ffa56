# SPDX-License-Identifier: Apache-2.0
"""A misspelling in a user's own declaration is refused with the nearest name."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import build_app
from kgbench.engine import spending
from kgbench.errors import KgbenchError, QueryError, ResourceError
from kgbench.scores.declared import check_selectors
from kgbench.scores.selectors import Selector
from kgbench.vocab import KGB, SKOS
from tests.support.analysis_store import altered, owned, small

PREFIXES = """@prefix axis: <https://example.org/axis/> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix dqv: <http://www.w3.org/ns/dqv#> .
@prefix ex: <https://example.org/terms#> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
COMPASS = f"""{PREFIXES}
<urn:mine> a kgb:Compass , kgb:ScoreSet ; skos:notation "mine" ; rdfs:label "Mine"@en ;
    dcterms:description "Two axes."@en ; ex:note "Terms of others may stand here." ;
    kgb:bandWidth 0.5e0 ; kgb:deviationKind "population" ; kgb:axis axis:pick , axis:mend .
axis:pick a dqv:Dimension ; skos:notation "Pick" ; rdfs:label "picks"@en ; sh:order 1 ;
    kgb:weight 2.0e0 ; kgb:scoreSelector [ kgb:taskGlob "Pick-*" ; kgb:metricName "f1" ] .
axis:mend a dqv:Dimension ; skos:notation "Mend" ; rdfs:label "mends"@en ; sh:order 2 ;
    kgb:scoreSelector [ kgb:taskGlob "Mend-*" ; kgb:metricName "max_combined" ] .
"""
SET = f"""{PREFIXES}
<urn:mine> a kgb:ScoreSet ; skos:notation "mine" ; rdfs:label "Mine"@en ;
    dcterms:description "Two scores."@en ; kgb:significanceTest "paired" ;
    kgb:scoreSelector [ kgb:taskGlob "Pick-*" ; kgb:metricName "f1" ] , [ kgb:taskGlob "Mend-*" ] .
"""
FORMATS = f"""{PREFIXES}
<urn:mine> a kgb:FormatComparison ; skos:notation "mine" ; rdfs:label "Mine"@en ;
    dcterms:description "One pair."@en ; kgb:firstFormat "TTL" ; kgb:secondFormat "JSON" ;
    kgb:formatPair [ rdfs:label "Pick" ; sh:order 1 ; kgb:firstTask "Pick-turtle" ;
        kgb:secondTask "Pick-jsonld" ; kgb:metricName "f1" ] .
"""
MODELS = f"""{PREFIXES}
<urn:m> a kgb:ModelRecord ; rdfs:label "M" ; kgb:family "F" ; kgb:matches "model-a" ;
    kgb:parameterCount 7.0e0 ; schema:license "open" ; dcterms:issued "2025-01-31"^^xsd:date .
"""
PRICES = f"""{PREFIXES}
<urn:p> a kgb:Price ; skos:notation "m" ; kgb:inputPrice 1.0 ; kgb:outputPrice 2.0 ;
    kgb:cachedPrice 0.5 ; dcterms:date "2026-01-01"^^xsd:date ;
    dcterms:source <https://example.org/> .
"""
COMMANDS = {
    COMPASS: ("analyze", "compass", "--compass", "mine"),
    SET: ("analyze", "leaderboard", "--set", "mine"),
    FORMATS: ("analyze", "format-preference", "--comparison", "mine"),
    MODELS: ("analyze", "scaling", "--points"),
}
app = build_app(["analyze", "plot"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a command with a user's declaration and returns its output."""
    folder = tmp_path_factory.mktemp("own")
    owned("analysis_scores", str(folder / "store")).close()

    def typed(text, *arguments):
        file = folder / "own.ttl"
        file.write_text(text, encoding="utf-8")
        given = [*arguments, "--declared", str(file), "--store", str(folder / "store")]
        found = CliRunner().invoke(app, given)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert found.exit_code == 0, found.output
        return found.stdout

    return typed


@pytest.mark.parametrize("text", COMMANDS, ids=["compass", "set", "formats", "models"])
def test_right_declarations_are_used(run, text):
    """A correct declaration gives a table, even beside terms of other vocabularies."""
    assert len(run(text, *COMMANDS[text], "--format", "csv").splitlines()) > 1


def test_one_resource_may_be_compass_and_score_set(run):
    """A resource may be both compass and score set, with the properties of both."""
    rows = csv.DictReader(
        io.StringIO(run(COMPASS, "analyze", "leaderboard", "--set", "mine", "--format", "csv"))
    )
    assert {row["tasks"] for row in rows} == {"3"}


@pytest.mark.parametrize(
    ("text", "found", "instead", "message"),
    [
        (COMPASS, '"f1"', '"f11"', "that matches 'Pick-.*' has a metric 'f11': did you mean f1?"),
        (COMPASS, "sh:order 1", "sh:ordr 1", "there is no sh:ordr: did you mean sh:order"),
        (COMPASS, "rdfs:label", "rdfs:lable", "there is no rdfs:lable: did you mean rdfs:label"),
        (COMPASS, "Pick-*", "Pikc-*", "no task label matches 'Pikc-.*': did you mean Pick-"),
        (COMPASS, "kgb:metricName", "kgb:metric",
         "kgb:metric is not a property of a score selector .* did you mean kgb:metricName"),
        (COMPASS, "kgb:weight", "kgb:axis", "kgb:axis is not a property of an axis"),
        (COMPASS, "kgb:scoreSelector [", "kgb:selector [", "no kgb:selector: .*kgb:scoreSelector"),
        (COMPASS, "a kgb:Compass", "a kgb:Compas", "no kgb:Compas: did you mean kgb:Compass"),
        (COMPASS, '"population"', '"populatoin"', "'populatoin': did you mean population?"),
        (COMPASS, "ns/shacl#", "ns/shac#", "in no known vocabulary: did you mean <.*shacl#>"),
        (COMPASS, "purl.org/dc/terms/", "purl.org/dc/term/", "did you mean <.*/dc/terms/>"),
        (COMPASS, '"mine"', '"mien"', r"there are: mien \(did you mean mien\?\)"),
        (SET, '"f1"', '"f11"', "has a metric 'f11': did you mean f1?"),
        (SET, "Mend-*", "Mnd-*", "no task label matches 'Mnd-.*': did you mean Mend-turtle?"),
        (SET, '"paired"', '"pairde"', "'pairde': did you mean paired?"),
        (SET, "kgb:significanceTest", "kgb:significantTest", "mean kgb:significanceTest"),
        (FORMATS, '"f1"', '"f11"', "has a metric 'f11': did you mean f1?"),
        (FORMATS, "Pick-jsonld", "Pick-jsonl", "matches 'Pick-jsonl': did you mean Pick-jsonld"),
        (FORMATS, "kgb:secondTask", "kgb:secondTsk", "no kgb:secondTsk: did you mean kgb:second"),
        (MODELS, "kgb:parameterCount", "kgb:parametrCount", "did you mean kgb:parameterCount"),
        (MODELS, "kgb:parameterCount", "kgb:inputPrice",
         "kgb:inputPrice is not a property of a model record .* kgb:"),
        (MODELS, '"model-a"', '"modl-a"', "no model .* matches 'modl-a' .did you mean model-a or"),
        (MODELS, '"model-a"', '"*modl-a*"', r"matches '\*modl-a\*' .did you mean model-a or"),
        (MODELS, "https://schema.org", "http://schema.org", "did you mean <https://schema.org/>"),
    ],
)  # fmt: skip
def test_slips_are_refused_with_the_nearest_name(run, text, found, instead, message):
    """A misspelt term, metric, label, value or namespace fails the command, with the file."""
    assert found in text
    with pytest.raises(KgbenchError, match=message) as raised:
        run(text.replace(found, instead, 1), *COMMANDS[text])
    assert "own.ttl" in str(raised.value)


def test_figures_refuse_slips_too(run, tmp_path):
    """A figure checks a declaration as a table does."""
    with pytest.raises(KgbenchError, match="has a metric 'f11': did you mean f1"):
        run(COMPASS.replace('"f1"', '"f11"'), "plot", "compass", "--out", str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_declared_scores_without_results_are_named(run):
    """A declared task of an installed class without results is named in a note."""
    more = ' , [ kgb:taskGlob "RdfFriendCount-nt-1" ; kgb:metricName "f1" ] .\naxis:mend'
    text = COMPASS.replace(" .\naxis:mend", more)
    printed = run(text, *COMMANDS[COMPASS], "--format", "markdown")
    assert "no results for RdfFriendCount-nt-1 (f1)." in printed.replace("\\", "")


def test_records_without_models_are_named(run):
    """A record of a model that the store lacks is named in a note."""
    more = '<urn:n> a kgb:ModelRecord ; rdfs:label "N" ; kgb:family "F" ; kgb:matches "modl-b" .'
    printed = run(f"{MODELS}{more}", *COMMANDS[MODELS], "--format", "markdown")
    assert "no model of the store matches 'modl-b' (did you mean model-b" in printed
    assert "no model of the store" not in run(MODELS, *COMMANDS[MODELS], "--format", "markdown")


@pytest.mark.parametrize("slip", ["kgb:cachdPrice", "kgb:contextLength"])
def test_price_tables_are_checked(tmp_path, slip):
    """A price table with a misspelt property is refused, because its prices would be wrong."""
    file = tmp_path / "prices.ttl"
    file.write_text(PRICES, encoding="utf-8")
    assert spending.declared_prices(file)[0].price.cached * 2 == 1
    file.write_text(PRICES.replace("kgb:cachedPrice", slip), encoding="utf-8")
    with pytest.raises(ResourceError, match=f"{slip}.*(did you mean|known are) kgb:"):
        spending.declared_prices(file)


def test_scores_of_which_less_is_better_are_not_combined():
    """A leaderboard, which takes more for better, refuses an error rate beside other scores."""
    turned = altered(
        f"DELETE {{ GRAPH ?g {{ ?m <{KGB.higherIsBetter}> true }} }} "
        f"INSERT {{ GRAPH ?g {{ ?m <{KGB.higherIsBetter}> false }} }} "
        f"WHERE {{ GRAPH ?g {{ ?m <{KGB.higherIsBetter}> true ; <{SKOS.notation}> 'f1' }} }}"
    )
    selectors = [Selector("Mend-*"), Selector("Pick-turtle", "f1")]

    check_selectors(small(), selectors, Path("own.ttl"))
    with pytest.raises(QueryError, match=r"own\.ttl: less of 'f1' of Pick-turtle is better"):
        check_selectors(turned, selectors, Path("own.ttl"))
