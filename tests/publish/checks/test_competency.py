# SPDX-License-Identifier: Apache-2.0
"""Questions that a reader can answer with published files alone: the dumps and their queries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.rdf import digest
from tests.publish.checks.published_folder import BASE, VEIL
from tests.publish.checks.published_folder import quads as dumped

RUN, PASS, CELL = f"{BASE}graph/run/1", f"{BASE}pass/2", f"{BASE}analysis/1/table/0/mean"
DIALOGUE = BASE + VEIL.path("run/1/oracle/Spell-10/0-d1d1d1d1")
TEXTS = ("Spell anne.", "Mend this:\n:a :b .", "That does not parse.")


class Reader:
    """A reader with a published folder and a plain RDF store."""

    def __init__(self, site: Path) -> None:
        self._queries = site / "queries"
        self._store = dumped(site)

    def ask(self, name: str, **parameters: str) -> list[dict[str, str | None]]:
        """Return the rows of a published query; parameters are IRIs."""
        text = (self._queries / f"{name}.rq").read_text(encoding="utf-8")
        for variable, iri in parameters.items():
            text = text.replace("# PARAMETERS", f"VALUES ?{variable} {{ <{iri}> }} # PARAMETERS")
        answer = self._store.query(text)
        assert isinstance(answer, ox.QuerySolutions)
        names = [variable.value for variable in answer.variables]
        return [
            {name: None if row[name] is None else row[name].value for name in names}
            for row in answer
        ]


@pytest.fixture(scope="module")
def reader(site: Path) -> Reader:
    """Return a reader of the sample."""
    return Reader(site)


def test_from_a_cell_to_the_answers(reader: Reader) -> None:
    """The mean of one value leads to one evaluation, its answer and the text of the answer."""
    (row,) = reader.ask("cell-answers", observation=CELL)
    assert (row["value"], row["dialogue"], row["answerText"]) == ("1", DIALOGUE, "a-n-n-e")
    assert row["answer"] == f"{DIALOGUE}/0/answer"


def test_which_models_were_asked_the_same(reader: Reader) -> None:
    """Prompts are distinguished by their IRIs, although their texts were left out."""
    rows = reader.ask("prompt-models", runGraph=RUN)
    asked: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        asked[str(row["promptDigest"])].add(str(row["model"]).rpartition("/")[2])
    one, three, five = (VEIL.digits(digest(text)) for text in TEXTS)
    assert asked.pop(one) == {"oracle"}
    assert {*asked} == {three, five}
    assert asked[three] == asked[five] != {"oracle"}
    assert sum(int(row["count"] or 0) for row in rows) == 6
