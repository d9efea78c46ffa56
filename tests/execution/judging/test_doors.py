# SPDX-License-Identifier: Apache-2.0
"""Judging processes can open nothing, and yet have all they need."""

import subprocess
import sys

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from tests.execution.judging.probing import PATIENCE, TASKS, judge, listener, nobody_came, requests


def test_children_can_open_nothing():
    """A child process opens no file, socket or process, and its output is discarded."""
    with listener() as server:
        tried = judge(f"break-out {server.getsockname()[1]}").infos
        assert nobody_came(server)
    closed = "Too many open files"
    assert tried.pop("stdin") == ""
    assert tried == dict.fromkeys(("file", "socket", "udp", "pipe", "process"), closed)


@pytest.mark.parametrize("instruction", ["unguarded", "bare"])
def test_with_the_lexer_off_nothing_is_asked(instruction):
    """If SERVICE reaches the engine, the engine still cannot connect."""
    with listener() as server:
        port = server.getsockname()[1]
        query = f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"
        infos = judge(f"{instruction} {query}").infos
        assert nobody_came(server)
    assert infos["error"]
    assert "never executed" not in infos["error"]


def test_the_listener_hears_those_who_can_speak():
    """Outside a child process, the same query does connect."""
    with listener() as server:
        port = server.getsockname()[1]
        query = f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"
        code = "import sys, pyoxigraph; list(pyoxigraph.Store().query(sys.argv[1]))"
        asking = subprocess.Popen([sys.executable, "-c", code, query], stderr=subprocess.DEVNULL)
        server.settimeout(PATIENCE)
        try:
            connection, _ = server.accept()
            connection.close()
        finally:
            asking.kill()
            asking.wait()


NOT_OF_RDFLIB = ("Rdf12World",)  # rdflib reads no RDF 1.2: its verdict says so and judges nothing


@pytest.mark.parametrize("engine", ["oxigraph", "rdflib"])
def test_engines_work_behind_closed_doors(engine):
    """Engines work without descriptors, because their late imports are done before."""
    typed = (
        '<http://e/a> <http://e/b> "P1D"^^<http://www.w3.org/2001/XMLSchema#duration>, '
        '"<p>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML>, 1.5e0, "x"@en-GB, true .'
    )
    answers = [
        f"parse turtle {typed}",
        'parse json-ld {"@context": {"a": "http://e/a"}, "a": {"@list": [1, 2.5, null]}}',
        "parse ntriples <http://e/a> <http://e/b> <http://e/c> .",
        'parse xml <a xmlns="http://e/"><b><c/></b></a>',
        (
            "query SELECT ?o (GROUP_CONCAT(STR(?p)) AS ?g) { ?s ?p ?o FILTER(LANG(?o) = '') "
            "BIND(SHA1('x') AS ?h) BIND(STRUUID() AS ?u) BIND(TZ(NOW()) AS ?t) "
            "BIND(xsd:date(NOW()) AS ?d) MINUS { ?s <http://e/x>+ ?o } } GROUP BY ?o"
        ),
    ]
    verdicts = judge_batch(requests(*answers), JudgeLimits(PATIENCE, engine=engine))
    assert [v.infos["error"] for v in verdicts] == [None] * 5
    assert [v.infos["triples"] for v in verdicts[:4]] == [5, 5, 1, 3]
    assert verdicts[4].infos["rows"] == 60


@pytest.mark.parametrize("engine", ["oxigraph", "rdflib"])
def test_task_classes_work_behind_closed_doors(engine):
    """A child that was started for one task class judges a good, a bad and an empty answer."""
    by_class: dict[str, list[JudgeRequest]] = {}
    for task in TASKS.values():
        if engine == "rdflib" and task.task_class in NOT_OF_RDFLIB:
            continue
        module = catalogue.module(task.task_class)
        for each in module.cases(task, "kgbench-1", 0, 1):
            answers = (module.reference(each), "```\nSELECT <a> <b>\n```", "")
            requests = by_class.setdefault(task.task_class, [])
            requests.extend(JudgeRequest(each, (answer,)) for answer in answers)
    assert len(by_class) > 30
    defects = []
    for name, batch in by_class.items():
        end_child()
        defects += [
            (name, dict(verdict.infos))
            for verdict in judge_batch(batch, JudgeLimits(PATIENCE, engine=engine))
            if verdict.outcome in (Outcome.EVALUATOR_ERROR, Outcome.TIMEOUT)
        ]
    assert not defects


def test_children_know_no_keys(monkeypatch):
    """A child process has the texts of its task, and only the environment that it needs."""
    assert judge("note").infos["note"] == "read before the doors were closed"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("KGBENCH_TASK_KEY", "secret")
    assert "secret" not in str(judge("environment").infos)


def test_installed_graphs_can_be_queried(tmp_path):
    """A graph that a case names is read from a file opened before the lockdown."""
    file = tmp_path / "graph.nt"
    file.write_text("<http://e/a> <http://e/b> <http://e/c> .\n" * 3)
    limits = JudgeLimits(graphs=(("beasts", str(file)),))
    assert judge("query SELECT * { ?s ?p ?o }", limits, graph="beasts").infos["rows"] == 1
