# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of code that reads foreign text: targets, mutated inputs, and earlier failures.

``make fuzz`` and the slow tests give each target an equal share of five minutes (``FUZZ_SECONDS``).
Hypothesis shrinks an input that fails, and it is written below ``build/fuzz/TARGET``; moved to
``tests/fuzz/cases/TARGET``, it is tried again in every run of the tests.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kgbench import config
from kgbench.characters import XmlSink, visible
from kgbench.connectors import chat_completions, extraction
from kgbench.errors import ImportRefused, KgbenchError, ProviderError
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.publish.scrubbing import Scrubber
from kgbench.rdf import canonical_json, lexer, original_text, storable
from kgbench.scoring.fences import fenced_blocks
from kgbench.secrets import SecretDetector
from kgbench.serve.admission import DEEPEST
from kgbench.store.iris import Iris
from kgbench.tables import Column, Table
from kgbench.tables.rendering import TEXT_FORMATS
from kgbench.testing import example, score
from kgbench.testing.hostile import FRAGMENTS
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v2, record_v3

ROOT = Path(__file__).resolve().parent
CASES = ROOT / "cases"
FAILED = ROOT.parents[1] / "build" / "fuzz"
_ROUND = 300  # inputs between two looks at the clock


class Target(NamedTuple):
    """A target: initial inputs, and the check that must hold for any input."""

    seeds: Sequence[bytes]
    check: Callable[[bytes], None]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").replace("\udc80", "\ud800")


def _lexer(data: bytes) -> None:
    query = _text(data)
    said = lexer.refusal(query)
    assert said is None or said.strip()
    # Queries that the lexer lets through contain no SERVICE as the engine parses them. The engine's
    # stack overflows at some thousand brackets and would end the test process.
    if said is None and not lexer.is_deeper(query, DEEPEST):
        store = ox.Store()
        with suppress(SyntaxError, ValueError):
            assert "SERVICE" not in repr(store.query(query)).upper()
    lexer.may_load(query)
    lexer.without_service(query)


def _fences(data: bytes) -> None:
    for block in fenced_blocks(_text(data)):
        assert isinstance(block.body, str)


def _extraction(data: bytes) -> None:
    found = extraction.after_think_blocks(_text(data))
    assert len(found.text) + len(found.reasoning or "") <= len(_text(data))


def _scores(label: str) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        found = score(label, _text(data))
        for name, value in found.scores.items():
            assert value == value, name  # noqa: PLR0124 - only NaN differs from itself

    return check


def _scrubbing(data: bytes) -> None:
    scrubber = Scrubber({"secret-host"}, SecretDetector(["sk-0123456789abcdef"]))
    assert "sk-0123456789abcdef" not in scrubber.text(_text(data) + " sk-0123456789abcdef")


def _reply(data: bytes) -> None:
    try:
        body = json.loads(_text(data))
    except (ValueError, RecursionError):
        return
    with suppress(ProviderError):
        canonical_json(chat_completions.reply(body).text)


def _results(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        path.write_bytes(data)
        with suppress(ImportRefused):
            for result in open_results(path):
                for run in read_runs(result, Iris(), "mine"):
                    list(run.items)


def _configuration(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        path.write_bytes(data)
        with suppress(KgbenchError):
            config.load(path)


def _documents(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    out = io.BytesIO()
    sink = XmlSink(out)
    solutions = ox.Store().query(f"SELECT ?a {{ VALUES ?a {{ {ox.Literal(text)} }} }}")
    solutions.serialize(sink, ox.QueryResultsFormat.XML)
    sink.flush()
    ET.fromstring(out.getvalue())
    assert visible(visible(text)) == visible(text)
    raw = _text(data)
    held = storable(raw)
    assert original_text(held.value, held.original) == raw
    json.loads(canonical_json({"a": raw}))
    for write in TEXT_FORMATS.values():
        write(Table(text, (Column("a", text),), ((text,),)))


def _answers(label: str) -> list[bytes]:
    one = example(label)
    return [one.reference.encode("utf-8", "surrogatepass"), b"", one.prompt.encode()[:500]]


CONFIGURATION = b"""
name: try
tasks: ["RdfFriendCount-turtle-1", {label: x, class: RdfFriendCount, params: {graphFormat: turtle}}]
models: ["baseline:oracle", {spec: "openai:a@http://127.0.0.1:1/v1"}]
sizes: [1000, 2000]
iterations: 2
"""
REPLY = b'{"id":"a","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{}}'
QUERIES = (
    b'PREFIX a: <urn:a#> SELECT * { ?s a:b "c"@en ; a:d 1.5e3 . FILTER(?s > 3) } LIMIT 1',
    b"SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    b"INSERT DATA { GRAPH <urn:g> { <urn:a> a <urn:b> } } ; LOAD <http://127.0.0.1:1/>",
)
RECORDS = tuple(as_json([r]) for r in (record_v1(), record_v2(), record_v3(), dialogue_v3()))

TARGETS = {
    "lexer": Target(QUERIES, _lexer),
    "fences": Target([b"a\n```turtle\n:a :b :c .\n```\nb", b"```\n{}```"], _fences),
    "extraction": Target([b"<think>a</think>b"], _extraction),
    "scrubbing": Target([b"http://a:b@secret-host:80/x?key=1 a@b.org 10.0.0.1"], _scrubbing),
    "reply": Target([REPLY], _reply),
    "results": Target(RECORDS, _results),
    "configuration": Target([CONFIGURATION], _configuration),
    "documents": Target([b"plain", "\u202e\x01".encode()], _documents),
} | {
    f"judge-{label}": Target(_answers(label), _scores(label))
    for label in (
        "RdfFriendCount-turtle-1",
        "RdfSyntaxFixList-jsonld",
        "RdfConnectionExplainStatic-nt",
        "FactExtractStatic",
        "TurtleErrorsStatic",
        "Text2KG-sample",
    )
}


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Draw one of ``seeds`` with pieces cut, repeated, moved, changed and inserted."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        place = draw(st.integers(0, len(data)))
        end = min(len(data), place + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(("cut", "repeat", "fragment", "bytes", "move")))
        if kind == "cut":
            del data[place:end]
        elif kind == "repeat":
            data[place:place] = data[place:end] * draw(st.integers(1, 50))
        elif kind == "fragment":
            fragment = draw(st.sampled_from(FRAGMENTS)).encode("utf-8", "surrogatepass")
            data[place:place] = fragment * draw(st.sampled_from((1, 1, 2, 100)))
        elif kind == "bytes":
            data[place:end] = draw(st.binary(max_size=8))
        else:
            piece = data[place:end]
            del data[place:end]
            to = draw(st.integers(0, len(data)))
            data[to:to] = piece
    return bytes(data)


def attack(name: str, seconds: float) -> int:
    """Try a target with random inputs for some seconds; return the number of inputs.

    Raises the error of the target's check, after the shrunk input was written to a file.
    """
    target = TARGETS[name]
    end, tried, last = time.monotonic() + seconds, 0, b""
    while time.monotonic() < end:

        @seed(random.SystemRandom().getrandbits(64))
        @settings(
            max_examples=_ROUND,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(mutated(target.seeds))
        def once(data: bytes) -> None:
            nonlocal tried, last
            tried, last = tried + 1, data
            target.check(data)

        try:
            once()
        except Exception as error:
            path = FAILED / name / hashlib.sha256(last).hexdigest()[:16]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(last)
            error.add_note(f"the input is in {path}; its place is {CASES / name}")
            raise
    return tried
