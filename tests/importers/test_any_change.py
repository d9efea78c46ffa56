# SPDX-License-Identifier: Apache-2.0
"""Any changed file that could be imported is either imported or refused with a message."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench import testing
from kgbench.errors import ImportRefused, KgbenchError
from kgbench.importers import text2kgbench
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.plugins.inspect import logs as inspect_logs
from kgbench.store import EmbeddedStore
from tests.support import inspect_log, text2kg_data
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v2, record_v3
from tests.support.validation import assert_conforms

ONE, ROUNDS = "RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"
RECORDS = (record_v1(), record_v2(), record_v3(), dialogue_v3())
ODD = '\x00\t\n\x7f\ufffe\ud800\udfff"\\<> _-'
TEXTS = st.text(st.sampled_from(ODD) | st.characters(), max_size=8)  # including lone surrogates
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner),
    max_leaves=6,
)
REMOVED = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each value within a value with its path of keys."""
    yield path, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


@st.composite
def changed(draw: Any, whole: Any) -> Any:
    """Draw ``whole`` with one value replaced, copied from elsewhere in it, or removed."""
    found = list(places(whole))[1:]
    path, _ = draw(st.sampled_from(found))
    value = draw(JSON | st.just(REMOVED) | st.sampled_from([inner for _, inner in found]))
    made = copy.deepcopy(whole)
    place = made
    for key in path[:-1]:
        place = place[key]
    if value is REMOVED:
        del place[path[-1]]
    else:
        place[path[-1]] = copy.deepcopy(value)
    return made


@pytest.fixture
def store() -> Iterator[EmbeddedStore]:
    """Return an empty store."""
    with EmbeddedStore(None) as opened:
        yield opened


@pytest.fixture(scope="module")
def logs() -> list[Any]:
    """Return a log of answers of one round and a log of a dialogue."""
    right, mended = (testing.example(label, 0).reference for label in (ONE, ROUNDS))
    return [
        inspect_log.log(ONE, [[right], ["nobody"]]),
        inspect_log.log(ROUNDS, [["no idea", mended]]),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for files that are overwritten."""
    return tmp_path_factory.mktemp("files")


def test_any_record_is_imported_or_refused(store):
    """A changed record of any generation is stored in conformance with the shapes, or refused."""

    @settings(max_examples=60)
    @given(st.sampled_from(RECORDS).flatmap(changed))
    def take(record: Any) -> None:
        try:
            found = read_runs(ResultFile("f.json", as_json([record])), store.iris)
        except ImportRefused as refused:
            assert str(refused).startswith("f.json: ")
            return
        for run in found:
            assert load(store, run).dialogues == 1

    take()
    assert_conforms(store)


def test_any_log_is_imported_or_refused(store, folder, logs):
    """A changed log of Inspect is stored in conformance with the shapes, or refused by name."""

    @settings(max_examples=60)
    @given(st.sampled_from(logs).flatmap(changed))
    def take(log: Any) -> None:
        path = inspect_log.write(folder, log, "json")
        try:
            found = inspect_logs.read_run(inspect_logs.read(path), store.iris)
        except ImportRefused as refused:
            assert path.name in str(refused)
            return
        assert load(store, found.run).dialogues > 0

    take()
    assert_conforms(store)


@pytest.fixture(scope="module")
def root(folder):
    """Return a data set of Text2KGBench."""
    return text2kg_data.write(folder / "text2kgbench")


@settings(max_examples=20)
@given(st.data())
def test_any_data_set_is_imported_or_refused(root, data):
    """A changed file of Text2KGBench is stored in conformance with the shapes, or refused."""
    files = sorted(path for path in root.rglob("*.json*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    whole = path.read_text()
    documents = [json.loads(line) for line in whole.split("\n") if line.strip()]
    made = data.draw(changed(documents))
    path.write_text("\n".join(map(json.dumps, made)))
    with EmbeddedStore(None) as store:
        try:
            found = text2kgbench.read(root)
            assert text2kgbench.write_catalogue(store, found) >= 0
            for run in text2kgbench.runs(root, found, store.iris):
                load(store, run)
        except KgbenchError as refused:
            assert str(refused)
        finally:
            path.write_text(whole)
        assert_conforms(store)
