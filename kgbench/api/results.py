# SPDX-License-Identifier: Apache-2.0
"""Results in a store: the object that :func:`kgbench.open` returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kgbench.analysis import analyses
from kgbench.analysis.selection import ALL, FIRST, Selection, select
from kgbench.analysis.tables import Table
from kgbench.api.analysis_methods import analysis_method
from kgbench.api.claims import Claims
from kgbench.api.connection import Connection
from kgbench.store.protocol import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kgbench.api.dialogues import Dialogues
    from kgbench.api.reevaluations import Reevaluation
    from kgbench.api.runs import Run
    from kgbench.engine import Progress
    from kgbench.model import Outcome


class Results(Claims):
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
        choice: str = FIRST,
        run: str | None = None,
        tasks: str = ALL,
        models: str = ALL,
    ) -> None:
        self._connection = connection
        selectors = {"suite": suite, "choice": choice, "run": run, "tasks": tasks, "models": models}
        self._chosen: dict[str, Any] = selectors

    # --- what counts ----------------------------------------------------------------------

    def select(
        self,
        *,
        suite: str | None = None,
        choice: str | None = None,
        run: str | None = None,
        tasks: str | None = None,
        models: str | None = None,
    ) -> Results:
        """Return the results of the same store with a narrower selection of scores.

        ``suite`` is a name or IRI, needed if the store has several suites. ``choice`` is the
        evaluation pass to use: ``first``, ``latest`` or an IRI. ``run`` is the id, IRI or label of
        the only run to use. ``tasks`` and ``models`` are globs over task labels and over model ids
        or names. ``None`` keeps the current value.

        >>> results = kgbench.open("kgbench-results")
        >>> results.select(models="*oracle").tasks().column("mean")
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        selectors = {"suite": suite, "choice": choice, "run": run, "tasks": tasks, "models": models}
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

    leaderboard = analysis_method(analyses.leaderboard)
    tasks = analysis_method(analyses.tasks)
    compass = analysis_method(analyses.compass)
    format_preference = analysis_method(analyses.format_preference)
    sizes = analysis_method(analyses.sizes)
    difficulty = analysis_method(analyses.difficulty)
    feedback = analysis_method(analyses.dialogue)
    characterization = analysis_method(analyses.characterization)
    outcomes = analysis_method(analyses.outcomes)
    tools = analysis_method(analyses.tools)
    scaling = analysis_method(analyses.scaling)
    text2kg = analysis_method(analyses.text2kg)
    reliability = analysis_method(analyses.reliability)
    agreement = analysis_method(analyses.agreement)
    disagreements = analysis_method(analyses.disagreements)
    confusion = analysis_method(analyses.confusion)
    calibration = analysis_method(analyses.calibration)
    judged_means = analysis_method(analyses.judged_means)
    panels = analysis_method(analyses.panels)
    items = analysis_method(analyses.items)
    references = analysis_method(analyses.references)
    contamination = analysis_method(analyses.contamination)
    policies = analysis_method(analyses.policies)
    audit = analysis_method(analyses.audit)
    published_means = analysis_method(analyses.published_means)
    variance = analysis_method(analyses.variance)
    pairs = analysis_method(analyses.pairs)

    def box_plots(
        self,
        *,
        metric: str | None = None,
        answers: str | None = None,
        size: str | tuple[float, float] | None = None,
        title: str | None = None,
        top: int | None = None,
    ) -> dict[str, Figure]:
        """Draw a box plot per task label, with the values of every model, as matplotlib figures.

        ``metric`` and ``answers`` are those of :meth:`tasks`; ``size``, ``title`` and ``top`` are
        those of the method ``figure`` of analyses.

        >>> results = kgbench.open("kgbench-results")
        >>> list(results.box_plots(metric="f1"))
        ['RdfFriendCount-turtle-1-1000', 'RdfFriendCount-turtle-1-2000', 'Text2KG-sample']
        """
        from kgbench.plots.kinds import Layout, box_plots

        return box_plots(self.store, self.selection, Layout(size, title, top), metric, answers)

    # --- queries and dialogues ------------------------------------------------------------

    def query(self, name: str, **parameters: Any) -> Table:
        """Run a declared query by name, or a SELECT query by its text.

        Numbers and booleans become Python values, other terms text. A declared query takes
        ``parameters``; graphs default to those of the selection. In a text, the common prefixes are
        predeclared. Raises :class:`~kgbench.errors.QueryError` for an unknown or invalid query.

        >>> results = kgbench.open("kgbench-results")
        >>> sum(results.query("outcome-counts").column("count"))
        60
        >>> results.query("SELECT (COUNT(*) AS ?runs) { GRAPH ?g { ?run a kgb:Run } }").rows
        ((1,),)
        """
        from kgbench.api.query_tables import run_declared, run_select
        from kgbench.errors import QueryError

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
        from kgbench.rdf.queries import ask

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

        ``outcome`` is the outcome of an answer, ``below`` an upper bound of the main score, and
        ``search`` a text in an answer (case-insensitive). ``sort`` is ``score`` (the lowest first),
        ``task``, ``model`` or ``outcome``. ``limit`` is the maximum number of dialogues.

        >>> results = kgbench.open("kgbench-results")
        >>> for dialogue in results.dialogues(below=0.5, limit=1):
        ...     print(dialogue.turns[0].prompt[:40], dialogue.answers)
        Below you find an RDF graph in JSON-LD f ('',)
        """
        from kgbench.analysis.dialogue_search import find_dialogues
        from kgbench.api.dialogues import Dialogues

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

    # --- what writes ----------------------------------------------------------------------

    def run(
        self,
        config: str | Path | None = None,
        *,
        models: str | Sequence[str] | None = None,
        tasks: str | Sequence[str] | None = None,
        iterations: int | None = None,
        suite: str | None = None,
        run: str | None = None,
        new: bool = False,
        concurrency: int | None = None,
        call_timeout: float | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        prices: Path | None = None,
        batch: bool | None = None,
        tool_protocol: str | None = None,
        retry_errors: bool = True,
        redo_invalidated: bool = False,
        reuse_answers: bool = False,
        preflight: bool = True,
        engine: str = "oxigraph",
        executor: str = "local",
        endpoint: str | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Run:
        """Run a benchmark, or continue it without requesting stored answers again.

        The options are those of ``kgbench run``: without ``config``, the quick start runs.
        ``models`` are specifications or globs, ``tasks`` globs over labels. The same call continues
        the newest run of the same name; ``new`` starts another. ``call_timeout`` is in seconds,
        ``max_cost`` in US dollars. ``watch`` is called with the progress after each step. An
        interrupt stops the run in order. Raises :class:`~kgbench.errors.ConfigurationError`,
        :class:`~kgbench.errors.ProviderError` or :class:`~kgbench.errors.StoreError` before the
        first dialogue.

        >>> results = kgbench.open("memory:")
        >>> run = results.run(models=["baseline:oracle"], tasks=["RdfFriendCount-turtle-*"])
        >>> run.finished, run.complete
        (True, 10)
        """
        from kgbench.api.runs import run_benchmark

        overrides = {
            "tasks": _several(tasks) or None,
            "models": _several(models) or None,
            "iterations": iterations,
            "suite": suite,
            "concurrency": concurrency,
            "call_timeout": call_timeout,
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "max_cost": None if max_cost is None else Decimal(str(max_cost)),
            "max_tokens": max_tokens,
            "prices": prices,
            "batch": batch,
            "tool_protocol": tool_protocol,
        }
        settings = {
            "retry_errors": retry_errors,
            "redo_invalidated": redo_invalidated,
            "reuse_answers": reuse_answers,
            "preflight": preflight,
            "engine": engine,
            "executor": executor,
            "endpoint": endpoint,
        }
        return run_benchmark(
            self._connection, config, overrides, settings, run=run, new=new, watch=watch
        )

    def reevaluate(
        self,
        run: str | None = None,
        *,
        tasks: str | Sequence[str] = (),
        models: str | Sequence[str] = (),
        against: str = "first",
        timeout: float = 30.0,
        engine: str = "oxigraph",
        executor: str = "local",
        endpoint: str | None = None,
        watch: Callable[[int], None] | None = None,
    ) -> Reevaluation:
        """Judge stored dialogues again in a new evaluation pass, without calling a model.

        The options are those of ``kgbench reevaluate``: ``run`` is an id, IRI or label (default:
        all runs), ``tasks`` and ``models`` are globs, ``against`` is the pass to compare with, and
        ``timeout`` the time limit for judging one answer in seconds. ``watch`` is called with the
        number of judged dialogues. Raises :class:`~kgbench.errors.StoreError` or
        :class:`~kgbench.errors.TaskError` if nothing matches.

        >>> results = kgbench.open("kgbench-results")
        >>> again = results.reevaluate(tasks=["RdfFriendCount-turtle-*"])
        >>> again.report["dialogues_compared"], again.report["dialogues_differing"]
        (16, [])
        """
        from kgbench.api.reevaluations import judge_again
        from kgbench.execution.judging import JudgeLimits
        from kgbench.run_selection import Selection as Stored

        return judge_again(
            self._connection,
            executor,
            JudgeLimits(seconds=timeout, engine=engine),
            run=run,
            selection=Stored(_several(tasks), _several(models)),
            against=against,
            endpoint=endpoint,
            watch=watch,
        )

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


def _several(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one text or several texts as a tuple; a text is not split into characters."""
    return (texts,) if isinstance(texts, str) else tuple(texts or ())
