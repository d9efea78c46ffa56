# SPDX-License-Identifier: Apache-2.0
"""Many simultaneous connections: all get right answers, each from one snapshot."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from kgbench.pages import things
from kgbench.serve import service
from kgbench.store import Block, open_store
from kgbench.vocab import BASE
from tests.serve import stores
from tests.serve.listening import listening

MANY = 256
LIMITS = {"seconds": 600, "patience": 600, "workers": 2}
LEFT, RIGHT = f"{BASE}graph/left", f"{BASE}graph/right"
BOTH = (
    f"SELECT ?left ?right {{ {{ SELECT (COUNT(*) AS ?left) {{ GRAPH <{LEFT}> {{ ?s ?p ?o }} }} }} "
    f"{{ SELECT (COUNT(*) AS ?right) {{ GRAPH <{RIGHT}> {{ ?s ?p ?o }} }} }} }}"
)


class Talk:
    """A persistent connection to a server."""

    def __init__(self, url):
        self._place = urlsplit(url)

    async def open(self):
        """Connect."""
        place = self._place
        self._reader, self._writer = await asyncio.open_connection(place.hostname, place.port)
        return self

    async def get(self, path):
        """Return the status and body of a response."""
        head = f"GET {path} HTTP/1.1\r\nHost: {self._place.netloc}\r\n"
        self._writer.write(f"{head}Accept: application/sparql-results+json\r\n\r\n".encode())
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(status.split()[1]), body

    def close(self):
        """Close the connection."""
        self._writer.close()


def rows(answer):
    """Return the sorted rows of a SPARQL result in JSON."""
    status, body = answer
    assert status == 200, body
    found = json.loads(body)["results"]["bindings"]
    return sorted(tuple(sorted((name, one["value"]) for name, one in row.items())) for row in found)


def expected(view, query):
    """Return the sorted rows of the same query on the snapshot itself."""
    found = view.database.query(query)
    names = [variable.value for variable in found.variables]
    return sorted(tuple(sorted((name, row[name].value) for name in names)) for row in found)


@pytest.mark.parametrize("kind", ["look-ups", "aggregates"])
def test_many_connections_at_once_get_right_answers(result_store, kind):
    """256 simultaneous clients, each with its own query, all get right answers."""
    view = things.open_newest(Path(result_store) / "snapshots", BASE)
    subjects = sorted({str(quad.subject) for quad in view.database if "<" in str(quad.subject)})
    subjects = [subjects[number % len(subjects)] for number in range(MANY)]
    if kind == "look-ups":
        asked = [f"SELECT ?p ?o {{ GRAPH ?g {{ {one} ?p ?o }} }}" for one in subjects]
    else:
        counted = "SELECT ?p (COUNT(?o) AS ?n) {{ GRAPH ?g {{ {} ?p ?o }} }} GROUP BY ?p"
        asked = [counted.format(one) for one in subjects]

    async def ask(url):
        talks = await asyncio.gather(*(Talk(url).open() for _ in range(MANY)))
        try:
            paths = [f"/sparql?query={quote(query, safe='')}" for query in asked]
            return await asyncio.gather(
                *(talk.get(path) for talk, path in zip(talks, paths, strict=True))
            )
        finally:
            for talk in talks:
                talk.close()

    with listening(result_store, **LIMITS) as url:
        answers = asyncio.run(ask(url))
    for answer, query in zip(answers, asked, strict=True):
        assert rows(answer) == expected(view, query)


def written(number):
    """Return one more triple for each of two graphs, for a single write."""
    return [Block(graph, [f"<{BASE}a> <{BASE}b> {number} ."]) for graph in (LEFT, RIGHT)]


def test_answers_under_way_are_from_one_snapshot_each(tmp_path, monkeypatch):
    """While snapshots change, no answer mixes two, is refused, or is older than the last one."""
    monkeypatch.setattr(service, "_GLANCE", 0.01)
    folder = stores.make(tmp_path / "results")
    path = f"/sparql?query={quote(BOTH, safe='')}"

    async def ask(url, go_on):
        talk, seen = await Talk(url).open(), []
        while go_on():
            ((left, right),) = rows(await talk.get(path))
            seen.append((int(left[1]), int(right[1])))
        talk.close()
        return seen

    async def change(url, store):
        talk = await Talk(url).open()
        for number in range(3):
            await asyncio.to_thread(store.write, written(number))
            await asyncio.to_thread(store.publish_snapshot)
            newest = things.open_newest(folder / "snapshots", BASE).name
            served = ""
            while served != newest:  # each answer comes from the running server
                served = json.loads((await talk.get("/health"))[1])["snapshot"]
        last = rows(await talk.get(path))
        talk.close()
        return last

    async def work(url, store):
        changing = asyncio.create_task(change(url, store))
        asking = [ask(url, lambda: not changing.done()) for _ in range(32)]
        return await asyncio.gather(changing, *asking)

    with listening(folder, **LIMITS) as url, open_store(str(folder)) as store:
        last, *found = asyncio.run(work(url, store))
    assert last == [(("left", "3"), ("right", "3"))]
    assert all(left == right for seen in found for left, right in seen)
    assert all(seen == sorted(seen) for seen in found)
    assert len({pair for seen in found for pair in seen}) > 1
