# SPDX-License-Identifier: Apache-2.0
"""Three hundred hostile answers: each ends with the outcome that is expected of its kind.

The probe in ``tests/probe`` takes them down the same two paths as the task classes do, checking
and running queries and parsing documents; classes that ship with kgbench take some as they are.
"""

import contextlib
import os
import random
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Case, Outcome, Verdict
from kgbench.tasks import catalogue
from tests.test_execution_judging import PROBE, case, listener, nobody_came
from tests.test_execution_lexer import ASKING, PIECES

PATIENT = JudgeLimits(seconds=20.0, memory_bytes=700 << 20)
HASTY = JudgeLimits(seconds=0.5, memory_bytes=700 << 20)
MEGABYTE = 1 << 20
ANY_LIMIT = ("time", "memory", "stack")
JUDGED = (Outcome.SCORED, Outcome.EMPTY, Outcome.UNPARSABLE)
JUDGED_OR_ENDED = (*JUDGED, Outcome.TIMEOUT)
TASKS = catalogue.labelled_tasks()  # as they are without the probe


class Hostile(NamedTuple):
    """A kind of attack: what is answered, and what must become of each answer.

    ``limits`` are those that a time-out may report; ``infos`` must be among the infos of an answer
    that has them.
    """

    answers: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    limits: tuple[str, ...] = ANY_LIMIT
    infos: Mapping[str, object] = MappingProxyType({})
    task: str = "Probe"


def scored(answers, **infos):
    """Answers that are judged to the end."""
    return Hostile(tuple(answers), (Outcome.SCORED,), infos=infos)


def ended(limits, answers, **infos):
    """Answers that hit one of ``limits``."""
    return Hostile(tuple(answers), (Outcome.TIMEOUT,), tuple(limits.split()), infos)


def either(answers, **infos):
    """Answers that are judged or hit a limit, depending on the machine."""
    return Hostile(tuple(answers), (Outcome.SCORED, Outcome.TIMEOUT), infos=infos)


def query(*queries):
    """Instructions to check and run queries."""
    return [f"query {text}" for text in queries]


def parse(rdf_format, *documents):
    """Instructions to parse documents."""
    return [f"parse {rdf_format} {text}" for text in documents]


def crossed(variables, rows=300):
    """Inline data that joins to ``rows`` to the power of ``variables``."""
    return " ".join(f"VALUES ?v{i} {{{' 1' * rows}}}" for i in range(variables))


def patterns(number):
    """Patterns that share no variable."""
    return " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(number))


def xml(body, doctype=""):
    """An RDF/XML document."""
    return (
        f'<?xml version="1.0"?>{doctype}<rdf:RDF xmlns:e="http://e/" '
        f'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="http://e/a"><e:b>{body}</e:b></rdf:Description></rdf:RDF>'
    )


def laughs(levels, width):
    """Entities that grow to ``width`` to the power of ``levels``."""
    steps = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * width}">' for i in range(1, levels))
    return xml(f"&l{levels - 1};", f'<!DOCTYPE x [<!ENTITY l0 "ha">{steps}]>')


def noise(seed, size):
    """Bytes of no meaning, read as text as far as they can be."""
    return random.Random(seed).randbytes(size).decode("utf-8", "surrogateescape")


def soup(seed):
    """Pieces of SPARQL in no order."""
    return "".join(random.Random(seed).choices(PIECES, k=30))


def hostile_queries(port) -> Iterator[tuple[str, Hostile]]:
    """The kinds of hostile SPARQL; ``port`` is where nobody may ask."""
    here = f"http://127.0.0.1:{port}/"
    yield (
        "endless joins",
        ended(
            "time", query(*(f"SELECT (COUNT(*) AS ?n) {{ {patterns(n)} }}" for n in range(6, 10)))
        ),
    )
    yield (
        "endless while checking",
        ended("time", query(*(f"SELECT (MAX(?v1) AS ?n) {{ {crossed(n)} }}" for n in range(5, 8)))),
    )
    yield (
        "endless in a filter",
        ended(
            "time memory",
            query(
                *(
                    f"SELECT * {{ ?s ?p ?o FILTER NOT EXISTS {{ {patterns(n)} "
                    "FILTER(?o0 = 'never') } }"
                    for n in (7, 8)
                )
            ),
        ),
    )
    yield (
        "endless to parse",
        ended("time", query(*(f"SELECT * {{ ?s ?p {'(' * n}{')' * n} }}" for n in (250, 300)))),
    )
    yield (
        "greedy for memory",
        ended(
            "memory",
            query(*(f"SELECT DISTINCT * {{ {patterns(n)} }} ORDER BY ?o0" for n in (6, 7))),
        ),
    )
    doubled = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(60))
    yield (
        "doubling texts",
        ended(
            "memory",
            query(*(f"SELECT * {{ BIND('{x}' AS ?x0) {doubled} }}" for x in ("ha", "ho"))),
        ),
    )
    yield (
        "too many rows",
        scored(query(*(f"SELECT * {{ {patterns(n)} }}" for n in (5, 6))), rows=0),
    )
    for name, (opening, closing) in {
        "parentheses": ("(", ")"),
        "groups": ("{", "}"),
        "options": ("OPTIONAL{", "}"),
        "sub-selects": ("{SELECT * {", "}}"),
    }.items():
        deep = (
            f"SELECT * {{ FILTER({opening * n}1{closing * n}) }}"
            if opening == "("
            else f"SELECT * {{ {opening * n}{closing * n} }}"
            for n in (500, 5_000, 100_000)
        )
        yield f"nested {name}", scored(query(*deep), rows=0, expired=False)
    yield (
        "long chains",
        ended(
            "stack",
            query(
                f"SELECT * {{ FILTER({'!' * 200_000}true) }}",
                f"SELECT * {{ {{}} {'UNION {} ' * 100_000} }}",
                f"SELECT * {{ FILTER(1{'+1' * 100_000}) }}",
            ),
        ),
    )
    asking = [text.replace("http://e/", here) for text in ASKING.values()]
    yield "service", scored(query(*asking), refused=True, rows=0)
    plain = [
        f"SELECT * {{ SERVICE {s} <{here}{n}> {{ ?s ?p ?o }} }}"
        for n in range(5)
        for s in ("", "SILENT")
    ]
    yield "service with the lexer off", scored(f"unguarded {text}" for text in plain)
    yield "service for the bare engine", scored(f"bare {text}" for text in plain)
    yield (
        "updates",
        scored(
            query(
                f"LOAD <{here}>",
                f"LOAD SILENT <{here}> INTO GRAPH <http://e/g>",
                f"# SELECT\nload<{here}>",
                "CLEAR ALL",
                "DROP SILENT DEFAULT",
                "INSERT DATA { <http://e/> <http://e/> 1 }",
                "PREFIX e: <http://e/> DELETE WHERE { ?s ?p ?o }",
                f"SELECT * {{}} ; LOAD <{here}>",
                "CREATE GRAPH <http://e/g>",
                "COPY DEFAULT TO <http://e/g>",
            ),
            rows=0,
        ),
    )
    yield (
        "other forms",
        scored(
            query(
                "ASK {}",
                "CONSTRUCT WHERE { ?s ?p ?o }",
                f"DESCRIBE <{here}>",
                "DESCRIBE * { ?s ?p ?o }",
            ),
            refused=True,
            rows=0,
        ),
    )
    yield (
        "graphs from elsewhere",
        scored(
            query(
                f"SELECT * FROM <{here}> {{ ?s ?p ?o }}",
                f"SELECT * FROM NAMED <{here}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
                "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
                f"SELECT * {{ GRAPH <{here}> {{ ?s ?p ?o }} }}",
            ),
            rows=0,
        ),
    )
    yield (
        "slow expressions",
        scored(
            query(
                *(
                    f"SELECT * {{ ?s ?p ?o FILTER(REGEX('{'a' * 5_000}', '{pattern}')) }}"
                    for pattern in (
                        "(a+)+$",
                        "(a|a)*b",
                        "(a*)*b",
                        "(.*)(.*)(.*)(.*)x",
                        "a{1,1000}b",
                    )
                )
            )
        ),
    )
    yield (
        "surrogates in queries",
        scored(
            query(*(f"SELECT * {{ ?s ?p '{c}' }}" for c in ("\ud800", "\udfff\ud800", "x\udc80"))),
            rows=0,
        ),
    )
    yield (
        "NUL in queries",
        scored(
            query("SELECT\x00* {}", "SELECT * { ?s ?p '\x00' }", "\x00", "SELECT * {}\x00"),
        ),
    )
    yield (
        "large queries",
        either(
            query(
                f"SELECT * {{ ?s ?p '{'x' * 10 * MEGABYTE}' }}",
                f"SELECT * {{}} # {'x' * 10 * MEGABYTE}",
                f"SELECT * {{ VALUES ?x {{ {'1 ' * 100_000} }} FILTER(?x = 2) }}",
                f"SELECT ?{'x' * MEGABYTE} {{}}",
            ),
        ),
    )
    yield (
        "numbers without end",
        scored(
            query(
                f"SELECT * {{ ?s ?p {'9' * 100_000} }}",
                "SELECT (1e308 * 1e308 AS ?x) {} LIMIT 99999999999999999999999",
                "SELECT (9223372036854775807 + 1 AS ?x) (1 / 0 AS ?y) {}",
                "SELECT * {} LIMIT 18446744073709551615 OFFSET 18446744073709551615",
            )
        ),
    )
    yield (
        "soup",
        scored(query(*map(soup, range(60)))),
    )
    yield "noise for queries", scored(query(*(noise(n, 2_000) for n in range(20))), rows=0)
    yield "no queries", scored(query("", " ", "no", "```", "SELECT", "SELECT *", "{}", "'"), rows=0)


def hostile_documents(port) -> Iterator[tuple[str, Hostile]]:
    """The kinds of hostile RDF."""
    here = f"http://127.0.0.1:{port}/"
    yield (
        "entity bombs",
        scored(
            parse("xml", *(laughs(levels, width) for levels in (2, 10, 30) for width in (2, 10))),
            triples=None,
        ),
    )
    external = (f"{here}x", "file:///etc/passwd", "/dev/zero")
    yield (
        "external entities",
        scored(
            parse(
                "xml",
                *(xml("&x;", f'<!DOCTYPE x [<!ENTITY x SYSTEM "{place}">]>') for place in external),
                *(
                    xml("", f'<!DOCTYPE x [<!ENTITY % x SYSTEM "{place}"> %x;]>')
                    for place in external
                ),
            ),
            triples=None,
        ),
    )
    yield (
        "external document types",
        scored(
            parse("xml", *(xml("y", f'<!DOCTYPE x SYSTEM "{place}">') for place in external)),
            triples=1,
        ),
    )
    contexts = (f'"{here}"', f'[{{}}, "{here}"]', f'{{"@import": "{here}"}}', '"/etc/passwd"')
    yield (
        "remote contexts",
        scored(
            parse(
                "json-ld",
                *(f'{{"@context": {c}, "http://e/b": 1}}' for c in contexts),
                *(f'{{"http://e/b": {{"\\u0040context": {c}, "x": 1}}}}' for c in contexts),
            ),
            triples=None,
        ),
    )
    yield (
        "nested JSON",
        either(
            parse(
                "json-ld",
                *("[" * n + "]" * n for n in (1_000, 100_000)),
                *('{"http://e/b":' * n + "1" + "}" * n for n in (1_000, 100_000)),
                '{"@context":' * 10_000 + "{}" + "}" * 10_000,
            )
        ),
    )
    yield (
        "nested Turtle",
        scored(
            parse(
                "turtle",
                *("<http://e/a> <http://e/b> " + "[ <http://e/b> " * n for n in (1_000, 100_000)),
                *("<http://e/a> <http://e/b> " + "(" * n + ")" * n for n in (1_000, 100_000)),
            ),
            triples=None,
        ),
    )
    yield (
        "nested XML",
        either(parse("xml", *(xml("<e:x><e:y>" * n + "</e:y></e:x>" * n) for n in (100, 4_000)))),
    )
    whole = 50 * MEGABYTE
    line = '<http://e/a> <http://e/b> "x{}" .\n'
    lines = "".join(line.format(i) for i in range(whole // 35))
    yield "50 MB of triples", either(parse("turtle", lines))
    yield (
        "50 MB in one literal",
        either(
            parse("json-ld", f'{{"http://e/b": "{"x" * whole}"}}') + parse("xml", xml("x" * whole))
        ),
    )
    yield (
        "50 MB of nothing",
        either(parse("turtle", " " * whole) + parse("xml", "<" * whole)),
    )
    yield "repeated triples", either(parse("ntriples", line.format(1) * 100_000), triples=1)
    for rdf_format in ("turtle", "json-ld", "xml", "ntriples"):
        yield (
            f"noise for {rdf_format}",
            scored(parse(rdf_format, *(noise(n, 5_000) for n in range(8))), triples=None),
        )
        yield (
            f"odd characters for {rdf_format}",
            scored(
                parse(
                    rdf_format,
                    *(
                        f"x{c}"
                        for c in ("\x00", "\ud800", "\udcff", "\ufeff\ufffe", "\u202e", "\x1b[2J")
                    ),
                ),
                triples=None,
            ),
        )
    yield (
        "long names",
        either(
            parse(
                "turtle",
                f"<http://e/{'x' * MEGABYTE}> <http://e/b> 1 .",
                f"@prefix {'x' * MEGABYTE}: <http://e/> . {'x' * MEGABYTE}:a <http://e/b> 1 .",
                f"_:{'x' * MEGABYTE} <http://e/b> 1 .",
                f"<http://e/a> <http://e/b> {'9' * MEGABYTE} .",
            ),
            triples=1,
        ),
    )


def hostile_answers(port) -> Iterator[tuple[str, Hostile]]:
    """Hostile answers to questions of task classes that ship with kgbench."""
    large = (noise(1, MEGABYTE), "person-" * MEGABYTE, "\x00" * MEGABYTE, "\ud800" * MEGABYTE)
    yield "large texts", Hostile(large, JUDGED, task="RdfFriendCount-turtle-1")
    documents = (
        noise(2, 2_000),
        "[" * 20_000,
        "\x00\ud800",
        "<a> <b> " + '"' * 3_000,
        "ab" * 200_000,
        "\n" * 200_000,
        "```" * 20_000,
    )
    fenced = tuple(f"```turtle\n{text}\n```" for text in documents)
    yield "fenced documents", Hostile(fenced, JUDGED_OR_ENDED, task="RdfSyntaxFixList-turtle")
    queries = (
        f"SELECT * {{ SERVICE # \n SILENT <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}",
        f"LOAD <http://127.0.0.1:{port}/> # SELECT",
        f"SELECT * {{ FILTER({'!' * 200_000}true) }}",
        f"SELECT * {{ {'{' * 5_000} {'}' * 5_000} }}",
        "SELECT * { ?s ?p '\ud800\x00' }",
        f"SELECT {noise(3, 5_000)}",
    )
    fenced = tuple(f"```sparql\n{text}\n```" for text in queries)
    endless = (f"```\nSELECT (COUNT(*) AS ?n) {{ {patterns(9)} }}\n```",)
    for task in ("Text2SparqlExecEvalListOrganizational", "SparqlSyntaxFixingListLcQuad"):
        yield f"fenced queries for {task}", Hostile(fenced, JUDGED_OR_ENDED, task=task)
        yield (
            f"endless queries for {task}",
            Hostile(endless, (Outcome.TIMEOUT,), ("time",), task=task),
        )


@pytest.fixture
def elsewhere():
    """A listener that must see nothing."""
    with listener() as server:
        yield server


@pytest.fixture(autouse=True)
def probe(monkeypatch):
    """The probe is an installed package, and no child outlives the test."""
    end_child()
    monkeypatch.syspath_prepend(PROBE)
    yield
    end_child()


def question(kind: Hostile, number: int) -> Case:
    """What an answer of this kind answers."""
    if kind.task == "Probe":
        return case(number % 7)
    task = TASKS[kind.task]
    return catalogue.module(task.task_class).cases(task, "kgbench-1", 0, 1)[0]


def wrong(kind: Hostile, verdict: Verdict) -> str | None:
    """What is not as expected of a verdict."""
    if verdict.outcome not in kind.outcomes:
        return f"{verdict.outcome} {dict(verdict.infos)}"
    if verdict.outcome == Outcome.TIMEOUT and verdict.infos["limit"] not in kind.limits:
        return f"limit: {dict(verdict.infos)}"
    for name, value in kind.infos.items():
        if verdict.infos.get(name, value) != value:
            return f"{name}: {dict(verdict.infos)}"
    return None


def judged(kinds: dict[str, Hostile], limits: JudgeLimits) -> list[tuple[str, str, Verdict]]:
    """Kind, answer and verdict of each answer: two children judge them, the kinds mixed."""
    answers = [(name, answer) for name, kind in kinds.items() for answer in kind.answers]
    random.Random(7).shuffle(answers)
    batch = [
        JudgeRequest(question(kinds[name], number), (answer,))
        for number, (name, answer) in enumerate(answers)
    ]
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(judge_batch, (batch[::2], batch[1::2]), (limits, limits))
        verdicts = dict(enumerate(halves))
    return [
        (name, answer, verdicts[number % 2][number // 2])
        for number, (name, answer) in enumerate(answers)
    ]


@contextlib.contextmanager
def peak_of_children():
    """Gives a list of the greatest memory, in bytes, of each child seen while the block runs.

    The children of other tests in the same process do not count, as they would in what the
    operating system adds up.
    """
    peaks = {}
    found = []
    done = threading.Event()

    def watch():
        mine = f"PPid:\t{os.getpid()}\n"
        while not done.wait(0.05):
            for place in Path("/proc").glob("[0-9]*"):
                # Before it has become another program, a child shows the memory of its parent.
                if "kgbench.execution.child" not in _read(place / "cmdline"):
                    continue
                status = _read(place / "status")
                mark = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
                if mark is not None and mine in status:
                    peaks[place.name] = max(peaks.get(place.name, 0), int(mark[1]) * 1024)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found.extend(peaks.values())


def _read(path):
    """The text of a file of a process, empty when the process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.mark.slow
def test_every_hostile_answer_has_its_outcome(elsewhere: socket.socket):
    """Every batch ends, each answer is judged as expected, nobody is asked, memory is bounded."""
    port = elsewhere.getsockname()[1]
    kinds = dict((*hostile_queries(port), *hostile_documents(port), *hostile_answers(port)))
    endless = {name: kind for name, kind in kinds.items() if kind.limits == ("time",)}
    with peak_of_children() as peak:
        results = judged(endless, HASTY)
        results += judged({n: kind for n, kind in kinds.items() if n not in endless}, PATIENT)

    assert len(kinds) >= 20
    assert len(results) >= 300
    unexpected = [
        f"{name}: {answer[:80]!r} -> {complaint}"[:600]
        for name, answer, verdict in results
        if (complaint := wrong(kinds[name], verdict)) is not None
    ]
    assert not unexpected, "\n".join(unexpected)
    assert nobody_came(elsewhere)
    assert 0 < max(peak) < PATIENT.memory_bytes


def test_the_probe_is_where_it_should_be():
    """The probe has the files that make it an installed package with a task class."""
    found = {str(path.relative_to(PROBE)) for path in Path(PROBE).rglob("*.t*")}
    assert {"kgbench_probe-1.0.dist-info/entry_points.txt", "probe_task/task.ttl"} <= found
