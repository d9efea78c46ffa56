# SPDX-License-Identifier: Apache-2.0
"""A store with a wrongly declared task class can be read, and the class can be dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.store import open_store
from tests.support import documented_package

RUN = ("run", "--model", "baseline:oracle", "--iterations", "1", "--new")
POISON = (
    "PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX skos: <http://www.w3.org/2004/02/skos/core#>"
    "DELETE { GRAPH ?g { ?class kgb:maxRounds ?rounds } }"
    "INSERT { GRAPH ?g { ?class kgb:maxRounds 3 } }"
    'WHERE { GRAPH ?g { ?class skos:notation "RdfFriendCount" ; kgb:maxRounds ?rounds } }'
)

pytestmark = pytest.mark.declared


def kgbench(store: Path, *words: str) -> str:
    """Return the output of a command on both streams; it must succeed."""
    done = CliRunner().invoke(app, [*words, "--store", str(store)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def test_a_wrongly_declared_class_is_left_out(tmp_path: Path) -> None:
    """Every command continues with the other classes, and names the one left out and why."""
    store = tmp_path / "store"
    kgbench(store, *RUN, "--task", "RdfFriendCount-nt-1", "--task", "RdfSyntaxFixList-turtle")
    with open_store(str(store)) as owned:
        owned.update(POISON)
    why = "RdfFriendCount 4.4 is left out, because its main metric"
    for words in (
        ("analyze", "leaderboard"),
        ("analyze", "tasks"),
        ("status",),
        (*RUN, "--task", "RdfSyntaxFixList-turtle"),
    ):
        said = kgbench(store, *words)
        assert why in " ".join(said.split()), words
        names = "baseline:oracle on RdfFriendCount-nt-1, RdfSyntaxFixList-turtle"  # of the run
        assert "RdfFriendCount-nt-1" not in " ".join(said.split()).replace(names, "")
    table = json.loads(kgbench(store, "analyze", "tasks", "--json"))
    assert {row["task"] for row in table["rows"]} == {"RdfSyntaxFixList-turtle"}


def test_dropping_takes_what_nothing_uses(tmp_path: Path) -> None:
    """Dropping the last run of a foreign class drops the class; all that is still used stays."""
    package = documented_package.write(tmp_path)

    def said(*words: str) -> str:
        done = documented_package.python(package, "-m", "kgbench", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def there() -> set[str]:
        query = package / "all.rq"
        query.write_text("SELECT DISTINCT ?s WHERE { GRAPH ?g { ?s ?p ?o } }")
        rows = said("query", str(query), "--format", "csv").split()
        return {row for row in rows if "/graph/" not in row and "/analysis/" not in row}

    said(*RUN, "--task", "RdfFriendCount-nt-1")
    before = there()
    foreign = [*RUN, "--model", "baseline:silent", "--task", "TurtleObjectList"]
    one, two = (json.loads(said(*foreign, "--json"))["run"] for _ in range(2))
    said("store", "drop", "--yes", one)
    kept = there()
    assert any("TurtleObjectList" in iri for iri in kept)
    dropped = json.loads(said("store", "drop", "--yes", "--json", two))
    assert any("task-class/TurtleObjectList" in iri for iri in dropped["forgotten"])
    assert any("model/baseline" in iri for iri in dropped["forgotten"])
    assert there() == before


def test_models_are_found_by_what_people_call_them(tmp_path: Path) -> None:
    """A model's exact name has precedence, and its name without the connector also works."""
    store = tmp_path / "store"
    config = tmp_path / "config.yaml"
    config.write_text(
        "iterations: 2\ntasks: [RdfFriendCount-nt-1]\nmodels:\n"
        "  - baseline:oracle\n  - {label: 'baseline:silent', spec: 'baseline:noisy?rate=0.5'}\n"
        "  - baseline:silent?delay=0\n"
    )
    words = ("run", str(config), "--model", "oracle", "--model", "baseline:silent")
    assert "4 of 4 dialogues" in kgbench(store, *words)
    for name in ("oracle", "baseline:oracle"):
        kgbench(store, "reevaluate", "--model", name)
        assert "baseline:oracle" in kgbench(store, "compare", name, "baseline:silent")
