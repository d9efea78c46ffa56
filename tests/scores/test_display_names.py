# SPDX-License-Identifier: Apache-2.0
"""Models have display names in output for people, and their own names in machine formats."""

from __future__ import annotations

import csv
import io
import json

from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names, displayed
from kgbench.tables import Column, Ref, Table
from tests.support.analysis_store import altered
from tests.support.archives import as_json, record_v3


def renamed(**labels):
    """Return a small store whose models have the given labels and ids, by the end of their IRI."""
    updates = [
        f"""DELETE {{ GRAPH ?g {{ <model/model-{end}> rdfs:label ?l ; skos:notation ?n }} }}
        INSERT {{ GRAPH ?g {{
            <model/model-{end}> rdfs:label "{label}" ; skos:notation "{label}" }} }}
        WHERE {{ GRAPH ?g {{ <model/model-{end}> rdfs:label ?l ; skos:notation ?n }} }}"""
        for end, label in labels.items()
    ]
    prefixes = (
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
    )
    return altered(*(prefixes + update for update in updates))


def test_a_record_names_a_model():
    """A model that a record of models.ttl matches is shown under the record's label."""
    names = display_names(renamed(a="gpt-4o-mini-2024-07-18"))
    assert names["gpt-4o-mini-2024-07-18"] == "ChatGPT 4o-mini"


def test_a_display_name_selects_its_model():
    """What tables show is accepted wherever a model is named, as is its id."""
    models = catalogue.models(renamed(a="gpt-4o-mini-2024-07-18"))
    (iri,) = (model.iri for model in models.values() if model.shown == "ChatGPT 4o-mini")

    assert models.fits(iri, "ChatGPT 4o-mini")
    assert models.fits(iri, "ChatGPT*")
    assert models.find("ChatGPT 4o-mini").iri == models.find("gpt-4o-mini-2024-07-18").iri == iri


def test_a_path_of_a_model_hub_is_shortened():
    """Without a record, a path is shortened to its last part; other names are unchanged."""
    names = display_names(renamed(a="some-org/deep/Small-7B"))
    assert names["some-org/deep/Small-7B"] == "Small-7B"
    assert names["Model B"] == "Model B"


def test_two_models_never_share_a_display_name():
    """If two models would have the same display name, each keeps its own name."""
    names = display_names(renamed(a="one/Small-7B", b="two/Small-7B"))
    assert names["one/Small-7B"] == "one/Small-7B"
    assert names["two/Small-7B"] == "two/Small-7B"
    names = display_names(renamed(a="one/Small-7B", b="Small-7B"))
    assert names == {"one/Small-7B": "one/Small-7B", "Small-7B": "Small-7B"}


def test_links_follow_display_names():
    """The IRIs for a column of models are found under their display names."""
    table = Table(
        "T",
        (Column("model", "Model"), Column("task", "Task")),
        ((Ref("a/b", "urn:m"), Ref("t", "urn:t")),),
    )
    shown = displayed(table, {"a/b": "b"})
    assert shown.rows == (("b", "t"),)
    assert shown.iris == {"model": {"b": "urn:m"}, "task": {"t": "urn:t"}}
    assert displayed(Table("T", (Column("task", "Task"),), (("a/b",),)), {"a/b": "b"}).rows == (
        ("a/b",),
    )


def test_people_read_display_names_and_programs_do_not(tmp_path):
    """Terminal and Markdown show a published model's display name, CSV and JSON its own name."""
    path, store = tmp_path / "found.json", tmp_path / "store"
    record = {**record_v3(), "modelId": "OpenAI--gpt-4o-mini-2024-07-18"}
    path.write_bytes(as_json([record]))
    done = CliRunner().invoke(
        app, ["import", "llm-kg-bench", str(path), "--suite", "mine", "--store", str(store)]
    )
    assert done.exit_code == 0, done.output

    def table(form):
        asked = ["analyze", "leaderboard", "--store", str(store), "--format", form]
        return CliRunner().invoke(app, asked, catch_exceptions=False).stdout

    assert "ChatGPT 4o-mini" in table("table")
    assert "ChatGPT 4o-mini" in table("markdown")
    (row,) = csv.DictReader(io.StringIO(table("csv")))
    assert row["model"] == "gpt-4o-mini-2024-07-18"
    assert json.loads(table("json"))["rows"][0]["model"] == row["model"]
