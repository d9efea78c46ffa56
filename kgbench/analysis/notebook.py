# SPDX-License-Identifier: Apache-2.0
"""A store from Python, for notebooks: queries as rows or DataFrames, analyses as tables.

>>> results = open("store/results")                             # doctest: +SKIP
>>> results.leaderboard().to_pandas()                           # doctest: +SKIP
>>> results.query("list-models")                                # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from kgbench.analysis import queries
from kgbench.analysis.selection import FIRST, Selection, select
from kgbench.analysis.tables import Column, Table
from kgbench.store import open_reader
from kgbench.store.protocol import Store
from kgbench.vocab import XSD

_NUMBERS = {XSD.integer: int, XSD.double: float, XSD.decimal: float}


class Results:
    """The results in a store: one suite, one evaluation pass per dialogue.

    The analyses are those of ``kgbench analyze``, as tables; a table's ``to_pandas()`` makes a
    DataFrame of it. Use it in a ``with`` block, or close it.
    """

    def __init__(self, store: Store, suite: str | None = None, choice: str = FIRST) -> None:
        self.store = store
        self._suite = suite
        self._choice = choice

    @property
    def selection(self) -> Selection:
        """The scores that count; :class:`~kgbench.errors.QueryError` where that is undecided."""
        return select(self.store, self._suite, self._choice)

    def query(self, name: str, **parameters: Any) -> Table:
        """The answer to a declared query, numbers as numbers.

        Pass and run graphs that the query needs are those that count, unless they are given.
        """
        declared = queries.load(name)
        wanted = {parameter.name for parameter in declared.parameters} - set(parameters)
        if wanted & {"passGraph", "runGraph"}:
            chosen = self.selection
            graphs = {"passGraph": chosen.pass_graphs, "runGraph": chosen.run_graphs}
            parameters |= {k: list(v) for k, v in graphs.items() if k in wanted}
            if chosen.latest and "latest" in wanted:
                parameters["latest"] = True
        columns = [column.name for column in declared.columns]
        rows = [
            tuple(_value(row[column]) for column in columns)
            for row in queries.run(self.store, name, **parameters)
        ]
        return Table(
            title=declared.label,
            columns=tuple(Column(column, column) for column in columns),
            rows=tuple(rows),
            queries=(name,),
        )

    def sparql(self, text: str) -> Any:
        """The answer to any query, as pyoxigraph gives it."""
        return self.store.query(text)

    def leaderboard(self, score_set: str = "main", file: Path | None = None) -> Table:
        """See :func:`kgbench.analysis.leaderboard.leaderboard`."""
        from kgbench.analysis import declarations, leaderboard

        combined = declarations.score_set(score_set, file)
        return leaderboard.leaderboard(self.store, self.selection, combined)

    def leaders(self, score_set: str = "main", **options: Any) -> Table:
        """See :func:`kgbench.analysis.leaders.leaders`."""
        from kgbench.analysis import declarations, leaders

        combined = declarations.score_set(score_set)
        return leaders.leaders(self.store, self.selection, combined, **options)

    def tasks(self, **options: Any) -> Table:
        """See :func:`kgbench.analysis.task_scores.task_scores`."""
        from kgbench.analysis.task_scores import task_scores

        return task_scores(self.store, self.selection, **options)

    def format_preference(self, comparison: str = "turtle-jsonld", **options: Any) -> Table:
        """See :func:`kgbench.analysis.format_preference.format_preference`."""
        from kgbench.analysis import format_preference as analysis

        declared = analysis.comparison(comparison)
        return analysis.format_preference(self.store, self.selection, declared, **options)

    def compass(self, name: str = "eswc", file: Path | None = None) -> Table:
        """See :func:`kgbench.analysis.compass.compass_table`."""
        from kgbench.analysis import compass as analysis

        return analysis.compass_table(self.store, self.selection, analysis.compass(name, file))

    def sizes(self, **options: Any) -> Table:
        """See :func:`kgbench.analysis.sizes.sizes`."""
        from kgbench.analysis.sizes import sizes

        return sizes(self.store, self.selection, **options)

    def dialogue(self) -> Table:
        """See :func:`kgbench.analysis.feedback.feedback_gains`."""
        from kgbench.analysis.feedback import feedback_gains

        return feedback_gains(self.store, self.selection)

    def outcomes(self, **options: str) -> Table:
        """See :func:`kgbench.analysis.outcomes.outcomes`."""
        from kgbench.analysis import outcomes as analysis

        return analysis.outcomes(self.store, self.selection, **options)

    def characterization(self) -> Table:
        """See :func:`kgbench.analysis.characterization.characterization`."""
        from kgbench.analysis import characterization as analysis

        return analysis.characterization(self.store, self.selection)

    def scaling(self, file: Path | None = None) -> Sequence[Table]:
        """See :func:`kgbench.analysis.scaling.scaling`."""
        from kgbench.analysis import scaling as analysis

        return analysis.scaling(self.store, self.selection, file=file)

    def compare(self, first: str, second: str, **options: Any) -> Table:
        """See :func:`kgbench.analysis.compare.compare`."""
        from kgbench.analysis.compare import compare, matches
        from kgbench.analysis.sides import sides

        a, b = sides(self.store, first, second)
        chosen = select(self.store, self._suite, a.iri if a.kind == "pass" else self._choice)
        return compare(matches(self.store, chosen, a, b, **options), a, b)

    def close(self) -> None:
        """Let the store go."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open(  # noqa: A001 - the word people expect: kgbench.open(store)
    location: str | None = None, *, suite: str | None = None, choice: str = FIRST
) -> Results:
    """The results in a store, beside whoever writes it.

    ``location`` is a folder (default as on the command line), ``suite`` a name or an IRI where the
    store has several, ``choice`` the pass that counts: ``first``, ``latest`` or an IRI.
    """
    return Results(open_reader(location), suite, choice)


def _value(term: Any) -> str | int | float | None:
    if term is None:
        return None
    datatype = getattr(term, "datatype", None)
    kind = _NUMBERS.get(datatype.value) if datatype is not None else None
    return str(term.value) if kind is None else kind(term.value)
