# SPDX-License-Identifier: Apache-2.0
"""Damaged files and aborted imports leave the store as it was."""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest
import pyzipper
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.analysis.outcomes import Errors, count_errors
from kgbench.datasets import home
from kgbench.errors import ImportRefused, ResourceError
from kgbench.importers import archives
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.importers.rdf import sources
from kgbench.model import Outcome
from kgbench.plugins.inspect import logs as inspect_logs
from kgbench.scores.catalogue import tasks
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.store.iris import Iris
from kgbench.tasks import graphs
from tests.support.archives import as_json, dialogue_v3, record_v3

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
GRAPH = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Bag/></r:RDF>'
PASSWORD = "a password of tests"


@cache
def archive(members: tuple[tuple[str, bytes], ...], method: int, encrypted: bool) -> bytes:
    """Return an intact zip archive."""
    content = io.BytesIO()
    if encrypted:
        made = pyzipper.AESZipFile(content, "w", compression=method, encryption=pyzipper.WZ_AES)
        made.setpassword(PASSWORD.encode())
    else:
        made = zipfile.ZipFile(content, "w", method)
    with made:
        for name, text in members:
            made.writestr(name, text)
    return content.getvalue()


PLACES = st.floats(0, 1, exclude_max=True)
PASSWORDS = st.sampled_from([None, PASSWORD, "another"])


@st.composite
def damaged(draw, *members):
    """Draw an archive of ``members`` with bytes changed or removed."""
    content = bytearray(archive(members, draw(st.sampled_from(METHODS)), draw(st.booleans())))
    for place, value in draw(st.lists(st.tuples(PLACES, st.integers(0, 255)), max_size=3)):
        content[int(place * len(content))] = value
    if draw(st.booleans()):
        begin = int(draw(PLACES) * len(content))
        del content[begin : begin + draw(st.integers(1, 30))]
    return bytes(content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for the archives, which are overwritten."""
    return tmp_path_factory.mktemp("archives")


def kept(folder, name, content):
    """Write a file with this content and return its path."""
    path = folder / name
    path.write_bytes(content)
    return path


@settings(max_examples=150)
@given(damaged(("run/results.json", b'[{"a": 1}]'), ("run/config.yaml", b"a: 1")), PASSWORDS)
def test_any_damage_to_results_is_refused(folder, content, password):
    """The files of a damaged archive of results are found, or it is refused by name."""
    path = kept(folder, "results.zip", content)
    try:
        archives.open_results(path, password)
    except ImportRefused as refused:
        assert "results.zip" in str(refused)


@settings(max_examples=150)
@given(damaged(("dump.ttl", b"<urn:a> <urn:b> 1 ."), ("note.txt", b"none")), PASSWORDS)
def test_any_damage_to_a_dump_is_refused(folder, content, password):
    """The documents of a damaged dump are unpacked, or it is refused by name."""
    path = kept(folder, "dump.zip", content)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        try:
            sources.unpack(path, "dump.zip", Path(scratch), password)
        except ImportRefused as refused:
            assert "dump.zip" in str(refused)


@settings(max_examples=150)
@given(damaged(("header.json", b'{"eval": {}}'), ("samples/1_epoch_1.json", b"{}")))
def test_any_damage_to_a_log_is_refused(folder, content):
    """A damaged log of Inspect is read, or refused by name."""
    path = kept(folder, "log.eval", content)
    try:
        inspect_logs.read(path)
    except ImportRefused as refused:
        assert "log.eval" in str(refused)


@settings(max_examples=150)
@given(damaged(("beastiary_kg.rdf", GRAPH.encode())))
def test_any_damage_to_a_graph_is_refused(folder, content):
    """A damaged archive of a graph is installed, or refused by name."""
    path = kept(folder, "beastiary_kg.rdf.zip", content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(home.VARIABLE, str(folder / "sets"))
        try:
            graphs.install(path)
        except ResourceError as refused:
            assert "beastiary_kg.rdf.zip" in str(refused)


SCORED, ABORTED = Outcome.SCORED, Outcome.EVALUATOR_ERROR
F1 = {"f1": 1.0}


@pytest.mark.parametrize(
    ("scores", "outcomes"),
    [
        ({"0": {}, "last": {}}, [ABORTED, ABORTED]),
        ({"0": {}, "1": {}}, [ABORTED, ABORTED, ABORTED]),
        ({"last": {}}, [ABORTED]),
        ({"last": F1}, [SCORED]),
        ({"0": F1, "1": {}, "last": {}}, [SCORED, ABORTED, ABORTED]),
        ({"0": F1, "1": {}, "mean": F1}, [SCORED, ABORTED, SCORED]),
        ({"0": F1, "1": F1}, [SCORED, SCORED, SCORED]),
    ],
)
def test_rounds_without_scores(
    scores: dict[str, dict[str, float]], outcomes: list[Outcome]
) -> None:
    """A round without scores was not judged, nor was a dialogue whose last round has none."""
    file = ResultFile("f.json", as_json([dialogue_v3(scores=scores)]))
    (run,) = read_runs(file, Iris())
    ((_, found),) = run.items
    assert [evaluation.outcome for evaluation in found] == outcomes


@pytest.mark.parametrize(
    ("record", "others", "scores"),
    [
        (record_v3, {}, {}),
        (record_v3, {}, {"0": {}}),
        (dialogue_v3, {}, {}),
        (dialogue_v3, {}, {"0": {}, "1": {}}),
        (dialogue_v3, {}, {"last": {}}),
        (dialogue_v3, {"version": "0.1"}, {}),  # not declared
        (dialogue_v3, {"version": "0.1"}, {"0": {}, "1": {}}),
    ],
)
def test_every_form_without_scores_counts_once(record, others, scores):
    """A dialogue without scores is one dialogue that was not judged, whatever its task class."""
    records = [record(**others), record(**others, scores=scores)]
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile("f.json", as_json(records)), store.iris)
        load(store, run)
        ((_, counted),) = count_errors(store, select(store), tasks(store)).items()

    assert counted == Errors(not_judged=1)
