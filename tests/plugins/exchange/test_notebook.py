# SPDX-License-Identifier: Apache-2.0
"""Exported notebooks show the same results as kgbench when executed."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import nbformat
import pytest

from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.plugins.exchange import notebook
from kgbench.publish.settings import DatasetDescription, Settings
from kgbench.publish.site import publish
from kgbench.rdf import queries
from kgbench.store import open_reader
from tests import notebooks
from tests.support.commands import printed as call

PANDAS_JSON = "print(leaderboard.to_json(orient='records'))"


def leaderboard(path, folder):
    """Execute a notebook in ``folder``; return its leaderboard and its outputs."""
    made = nbformat.read(path, as_version=4)
    nbformat.validate(made)
    made.cells.append(nbformat.v4.new_code_cell(PANDAS_JSON))
    nbformat.write(made, path)
    done = notebooks.executed(path, folder)
    shown = notebooks.outputs(done)
    ((_, text),) = shown[-1]
    return json.loads(io.StringIO(text).read()), shown[:-1]


def expected(store):
    """Return the sorted mean scores of models, as the command computes them."""
    said = json.loads(call("analyze", "leaderboard", "--store", store, "--format", "json"))
    return sorted(row["score"] for row in said["rows"])


def test_a_notebook_shows_the_leaderboard(small, tmp_path):
    """A notebook executed beside its data answers every query and has the command's means."""
    out = tmp_path / "notebook"
    call("export", "notebook", "--store", small, "-o", out)
    rows, shown = leaderboard(out / "results.ipynb", out)
    assert sorted(row["mean"] for row in rows) == pytest.approx(expected(small))
    assert {row["model"] for row in rows} == {
        "baseline:oracle",
        "baseline:noisy?rate=0.5&seed=3",
    }
    ready = [n for n in queries.names() if notebook.READY_MADE in queries.load(n).keywords]
    assert len(ready) >= 4
    assert "picture" in [output for outputs in shown for output in outputs]
    # Loading and each query have an output; a cell of function definitions has none.
    assert sum(map(bool, shown)) == 1 + len(ready) + 1


def test_a_notebook_asks_published_data(small, tmp_path):
    """With --data, the notebook queries a published dump under any base and contains no data."""
    site = tmp_path / "site"
    settings = Settings(
        str(small),
        site,
        base="https://example.org/bench/",
        metadata=DatasetDescription(),
        processes=1,
    )
    publish(settings, lambda *_: None)
    out = tmp_path / "notebook"
    dump = site / "data" / "all.nq.zst"
    call("export", "notebook", "--store", small, "--data", dump.as_uri(), "-o", out)
    assert [path.name for path in out.iterdir()] == ["results.ipynb"]
    rows, _ = leaderboard(out / "results.ipynb", out)
    assert sorted(row["mean"] for row in rows) == pytest.approx(expected(small))


def test_labels_are_no_markup(small):
    """The label of a run is escaped in the first cell."""
    with open_reader(str(small)) as store:
        run = read(store, ExportRequest())
    named = replace(run, info=replace(run.info, label="<b>*a*</b>\n# b"))
    first = "".join(notebook.notebook(named, "results.nq")["cells"][0]["source"])
    assert first.splitlines()[0] == "# Results of the run \\<b\\>\\*a\\*\\</b\\>\\# b"
    with pytest.raises(PublicationRefused, match="three quotation marks"):
        notebook._literal('"""')
