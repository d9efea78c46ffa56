# SPDX-License-Identifier: Apache-2.0
"""Results in a store, and :func:`kgbench.open`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from kgbench.api.actions import Actions
from kgbench.api.analysis_methods import analysis_method, with_analyses
from kgbench.api.connection import Connection
from kgbench.errors import QueryError
from kgbench.scores.selection import ALL, FIRST, Selection, select
from kgbench.store.protocol import Store
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kgbench.analysis import compass as compass_
    from kgbench.analysis import contamination as contamination_
    from kgbench.analysis import difficulty as difficulty_
    from kgbench.analysis import feedback as feedback_
    from kgbench.analysis import format_preference as format_preference_
    from kgbench.analysis import items as items_
    from kgbench.analysis import leaderboard as leaderboard_
    from kgbench.analysis import outcomes as outcomes_
    from kgbench.analysis import pairs as pairs_
    from kgbench.analysis import policies as policies_
    from kgbench.analysis import reliability as reliability_
    from kgbench.analysis import task_scores as task_scores_
    from kgbench.analysis import tool_usage as tool_usage_
    from kgbench.api.connection import Dialogues
    from kgbench.model import Outcome


@with_analyses
class Results(Actions):
    """The results in a store; another process may write to it at the same time.

    Analyses and searches use one suite and one evaluation pass per dialogue, as narrowed by
    :meth:`select`. Each analysis of ``kgbench analyze`` is a method of the same name that returns a
    :class:`kgbench.Table`. Use the object in a ``with`` block, or close it.

    >>> with kgbench.open("kgbench-results") as results:
    ...     board = results.leaderboard()
    >>> board.column("model")
    ['baseline:oracle', 'baseline:noisy?rate=0.6&seed=7']
    """

    def __init__(
        self,
        connection: Connection,
        *,
        suite: str | None = None,
        pass_: str = FIRST,
        run: str | None = None,
        tasks: str = ALL,
        models: str | Sequence[str] = ALL,
    ) -> None:
        self._connection = connection
        selectors = {"suite": suite, "pass_": pass_, "run": run, "tasks": tasks, "models": models}
        for name, value in selectors.items():
            if value is not None and name != "models" and not isinstance(value, str):
                raise QueryError(
                    f"{name} is one text or glob, not {value!r}: select once for each of several"
                )
        self._chosen: dict[str, Any] = selectors

    # --- what counts ----------------------------------------------------------------------

    def select(
        self,
        *,
        suite: str | None = None,
        pass_: str | None = None,
        run: str | None = None,
        tasks: str | None = None,
        models: str | Sequence[str] | None = None,
    ) -> Results:
        """Return the results of the same store with a narrower selection of scores.

        Args:
            suite: Name or IRI of a suite; by default, the only one that the chosen models share,
                else that of the newest run.
            pass_: The evaluation pass to use: ``first``, ``latest`` or an IRI.
            run: Id, IRI or label of the only run to use.
            tasks: Glob over task labels.
            models: Glob over model ids or names, or several.

        ``None`` keeps the current value.

        >>> results = kgbench.open("kgbench-results")
        >>> results.select(models="*oracle").tasks().column("mean")
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        selectors = {"suite": suite, "pass_": pass_, "run": run, "tasks": tasks, "models": models}
        changed = {name: value for name, value in selectors.items() if value is not None}
        return Results(self._connection, **{**self._chosen, **changed})

    @property
    def selection(self) -> Selection:
        """The selected scores; raises :class:`~kgbench.errors.QueryError` for ambiguous suites.

        >>> kgbench.open("kgbench-results").selection.suite_name
        'kgbench-1'
        """
        return select(self.store, **self._chosen)

    @property
    def store(self) -> Store:
        """The store, open for reading as long as the results are open.

        Raises :class:`~kgbench.errors.StoreError` if there is no store yet.

        >>> results = kgbench.open("kgbench-results")
        >>> results.store.location
        'kgbench-results'
        """
        return self._connection.store

    # --- analyses -------------------------------------------------------------------------

    if TYPE_CHECKING:  # :func:`with_analyses` adds the methods
        compass = analysis_method(compass_.compass)
        contamination = analysis_method(contamination_.contamination)
        difficulty = analysis_method(difficulty_.difficulty)
        feedback = analysis_method(feedback_.feedback)
        format_preference = analysis_method(format_preference_.format_preference)
        items = analysis_method(items_.items)
        leaderboard = analysis_method(leaderboard_.leaderboard)
        outcomes = analysis_method(outcomes_.outcomes)
        pairs = analysis_method(pairs_.pairs)
        policies = analysis_method(policies_.policies)
        references = analysis_method(policies_.references)
        reliability = analysis_method(reliability_.reliability)
        sizes = analysis_method(difficulty_.sizes)
        tasks = analysis_method(task_scores_.tasks)
        tools = analysis_method(tool_usage_.tools)

    def box_plots(
        self,
        *,
        metric: str | None = None,
        round: str | None = None,
        size: str | tuple[float, float] | None = None,
        title: str | None = None,
        top: int | None = None,
    ) -> dict[str, Figure]:
        """Draw a box plot per task label, with the values of every model, as matplotlib figures.

        Args:
            metric: As for :meth:`tasks`.
            round: As for :meth:`tasks`.
            size: As for the method ``figure`` of analyses.
            title: Title of each figure; an empty one omits it.
            top: Number of the best models to draw; default: all.

        >>> results = kgbench.open("kgbench-results")
        >>> list(results.box_plots(metric="f1"))
        ['RdfFriendCount-turtle-1-1000', 'RdfFriendCount-turtle-1-2000', 'Text2KG-sample']
        """
        from kgbench.plots.box_plots import box_plots
        from kgbench.plots.figures import Layout

        return box_plots(self.store, self.selection, Layout(size, title, top), metric, round)

    # --- queries and dialogues ------------------------------------------------------------

    def query(self, name: str, **parameters: Any) -> Table:
        """Run a declared query by name, or a SELECT query by its text.

        Numbers and booleans become Python values, other terms text. In a text, the common prefixes
        are predeclared.

        Args:
            name: Name of a query in ``queries/``, or the text of a SELECT query.
            parameters: Values for a declared query; graphs default to those of the selection.

        Raises:
            QueryError: For an unknown or invalid query.

        >>> results = kgbench.open("kgbench-results")
        >>> sum(results.query("outcome-counts").column("count"))
        60
        >>> results.query("SELECT (COUNT(*) AS ?runs) { GRAPH ?g { ?run a kgb:Run } }").rows
        ((1,),)
        """
        from kgbench.api.connection import run_declared, run_select

        if len(name.split()) == 1:
            return run_declared(self.store, name, parameters, lambda: self.selection)
        if parameters:
            raise QueryError("only declared queries have parameters")
        return run_select(self.store, name)

    def sparql(self, text: str) -> Any:
        """Run any SPARQL query and return pyoxigraph's result.

        >>> bool(kgbench.open("kgbench-results").sparql("ASK { ?run a kgb:Run }"))
        True
        """
        from kgbench.api.connection import ask

        return ask(self.store, text)

    def dialogues(
        self,
        *,
        outcome: Outcome | str | None = None,
        below: float | None = None,
        search: str | None = None,
        sort: str = "score",
        limit: int | None = None,
    ) -> Dialogues:
        """Find judged dialogues of the selection, as :class:`kgbench.Dialogue` objects.

        Args:
            outcome: Only dialogues with an answer of this outcome.
            below: Only dialogues whose main score is lower.
            search: Only dialogues with this text in an answer (case-insensitive).
            sort: ``score`` (the lowest first), ``task``, ``model`` or ``outcome``.
            limit: Maximum number of dialogues; default: all.

        >>> results = kgbench.open("kgbench-results")
        >>> for dialogue in results.dialogues(below=0.5, limit=1):
        ...     print(dialogue.turns[0].prompt[:40], dialogue.answers)
        Below you find an RDF graph in JSON-LD f ('',)
        """
        from kgbench.analysis.dialogue_search import find_dialogues
        from kgbench.api.connection import Dialogues

        table = find_dialogues(
            self.store,
            self.selection,
            outcome=outcome,
            below=below,
            text=search,
            sort=sort,
            limit=limit,
        )
        return Dialogues(self._connection, table)

    # --- opening and closing --------------------------------------------------------------

    def close(self) -> None:
        """Close the store; a store in memory is lost.

        >>> kgbench.open("kgbench-results").close()
        """
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open(  # noqa: A001 - the public name is kgbench.open
    location: str | None = None,
    *,
    suite: str | None = None,
    pass_: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str | Sequence[str] = ALL,
) -> Results:
    """Open the results in a store; another process may write to it at the same time.

    The first run creates a store.

    Args:
        location: A folder, ``memory:`` or the URL of a SPARQL server; default: as on the command
            line.
        suite: As for :meth:`kgbench.Results.select`, like the other selectors.
        pass_: The evaluation pass to use: ``first``, ``latest`` or an IRI.
        run: Id, IRI or label of the only run to use.
        tasks: Glob over task labels.
        models: Glob over model ids or names, or several.

    >>> results = kgbench.open("kgbench-results", models="*oracle")
    >>> results.leaderboard().column("score")
    [1.0]
    """
    return Results(
        Connection(location), suite=suite, pass_=pass_, run=run, tasks=tasks, models=models
    )
