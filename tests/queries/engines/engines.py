# SPDX-License-Identifier: Apache-2.0
"""Other RDF stores: each loads a dump and runs every query unchanged.

An engine is a function of a dump in N-Quads, queries by name, an empty working folder, and the
timeout of a query in seconds. It raises :class:`Missing` if it is not installed.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.plugins.virtuoso import server as virtuoso
from tests.queries.engines.quirks import OWN_GRAPHS
from tests.store import servers

ROOT = Path(__file__).parents[3]
JENA = ROOT / "build" / "jena"
_EXCLUDING = re.compile("log4j|slf4j-(?!api|nop)|jcl-over|jul-to")  # log adapters that clash
_GRAPH = re.compile(rb"<([^<> ]+)> \.$")
_START = 300  # seconds for starting and loading, in addition to the queries


class Missing(Exception):
    """The engine is not on this machine; the message says how to install it."""


@dataclass(frozen=True)
class Answer:
    """The result of one query: ``content`` is SPARQL's JSON, or ``error`` the reason for none."""

    seconds: float
    content: bytes = b""
    error: str = ""


@dataclass(frozen=True)
class Asked:
    """The results of all queries."""

    version: str
    loading: float
    answers: dict[str, Answer]


Engine = Callable[[Path, Mapping[str, str], Path, int], Asked]


def jena_command(*words: object) -> list[str]:
    """Return a Java command with Jena's classes; raises :class:`Missing`."""
    _require_jena()
    jars = sorted((JENA / "usr/share/java").glob("*.jar"))
    path = [JENA / "classes", *(jar for jar in jars if not _EXCLUDING.search(jar.name))]
    return ["java", "-cp", os.pathsep.join(map(str, path)), *map(str, words)]


def jena_version() -> str:
    """Return the version of the installed Jena; raises :class:`Missing`."""
    _require_jena()
    (jar,) = (JENA / "usr/share/java").glob("jena-arq-[0-9]*.jar")
    return jar.stem.removeprefix("jena-arq-")


def _require_jena() -> None:
    if not (JENA / "classes").is_dir() or shutil.which("javac") is None:
        raise Missing("needs a JDK and Jena: make build/jena/.installed")


def _oxigraph(dump: Path, queries: Mapping[str, str], work: Path, patience: int) -> Asked:
    words = [sys.executable, "-m", "tests.queries.engines.ask", "oxigraph", str(dump)]
    return _child(importlib.metadata.version("pyoxigraph"), words, queries, work, patience)


def _rdflib(dump: Path, queries: Mapping[str, str], work: Path, patience: int) -> Asked:
    words = [sys.executable, "-W", "ignore", "-m", "tests.queries.engines.ask", "rdflib", str(dump)]
    return _child(importlib.metadata.version("rdflib"), words, queries, work, patience)


def _jena(dump: Path, queries: Mapping[str, str], work: Path, patience: int) -> Asked:
    words = jena_command(Path(__file__).with_name("Ask.java"), dump)
    return _child(jena_version(), words, queries, work, patience)


def _child(
    version: str, words: list[str], queries: Mapping[str, str], work: Path, patience: int
) -> Asked:
    """Run the queries in a child process that answers with files."""
    asked, answered = work / "queries", work / "answers"
    asked.mkdir()
    answered.mkdir()
    for name, text in queries.items():
        (asked / f"{name}.rq").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [*words, asked, answered, str(patience)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=_START + patience * len(queries),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loading, answers = 0.0, {}
    for line in done.stdout.splitlines():
        name, seconds, error = line.split("\t")
        if not name:
            loading = float(seconds)
        else:
            content = b"" if error else (answered / f"{name}.json").read_bytes()
            answers[name] = Answer(float(seconds), content, error)
    return Asked(version, loading, answers)


def _oxigraph_server(dump: Path, queries: Mapping[str, str], work: Path, patience: int) -> Asked:
    with servers.Oxigraph(work) as server:
        begin = time.perf_counter()
        with dump.open("rb") as file:
            urllib.request.urlopen(
                urllib.request.Request(
                    f"{server.url}/store",
                    data=file,
                    headers={
                        "Content-Type": "application/n-quads",
                        "Content-Length": str(dump.stat().st_size),
                    },
                ),
                timeout=_START,
            ).close()
        loading = time.perf_counter() - begin
        answers = {
            name: _http(f"{server.url}/query", [("query", text)], patience)
            for name, text in queries.items()
        }
    return Asked(importlib.metadata.version("oxigraph"), loading, answers)


def _virtuoso(dump: Path, queries: Mapping[str, str], work: Path, patience: int) -> Asked:
    if shutil.which("virtuoso-t") is None or shutil.which("isql-vt") is None:
        raise Missing("Virtuoso is not installed (Debian: virtuoso-opensource)")
    file = work / "all.nq"
    shutil.copy(dump, file)
    graphs = [("named-graph-uri", iri) for iri in _named(file)]
    with virtuoso.Virtuoso(work, buffers=100_000) as server:
        begin = time.perf_counter()
        server.load(file, _START)
        loading = time.perf_counter() - begin
        answers = {
            name: _http(
                server.url, [("query", text), *(graphs if name in OWN_GRAPHS else ())], patience
            )
            for name, text in queries.items()
        }
    return Asked(virtuoso.version(), loading, answers)


def _named(dump: Path) -> list[str]:
    """Return the names of the graphs of a dump in N-Quads."""
    with dump.open("rb") as lines:
        found = dict.fromkeys(m[1] for line in lines if (m := _GRAPH.search(line.rstrip())))
    return [iri.decode() for iri in found]


def _http(url: str, fields: list[tuple[str, Any]], patience: int) -> Answer:
    request = urllib.request.Request(
        url,
        data=urlencode(fields).encode(),
        headers={"Accept": "application/sparql-results+json"},
    )
    begin = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=patience) as response:
            content = response.read()
    except urllib.error.HTTPError as error:
        words = error.read().decode(errors="replace")[:500]
        return Answer(time.perf_counter() - begin, error=f"{error.code} {words}")
    except OSError as error:
        return Answer(time.perf_counter() - begin, error=repr(error))
    return Answer(time.perf_counter() - begin, content)


ENGINES: dict[str, Engine] = {
    "Oxigraph": _oxigraph,
    "Oxigraph server": _oxigraph_server,
    "Jena": _jena,
    "Virtuoso": _virtuoso,
    "rdflib": _rdflib,
}
