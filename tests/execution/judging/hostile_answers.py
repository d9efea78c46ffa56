# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to questions of task classes that ship with kgbench."""

from collections.abc import Iterator

from kgbench.model import Outcome
from tests.execution.judging.hostile import MEGABYTE, Hostile, noise, patterns

JUDGED = (Outcome.SCORED, Outcome.EMPTY, Outcome.UNPARSABLE)
JUDGED_OR_ENDED = (*JUDGED, Outcome.TIMEOUT)


def hostile_answers(port) -> Iterator[tuple[str, Hostile]]:
    """Yield kinds of hostile answers to questions of task classes that ship with kgbench."""
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
