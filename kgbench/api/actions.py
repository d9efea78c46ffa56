# SPDX-License-Identifier: Apache-2.0
"""Methods of results: comparing models, planning, running a benchmark, and judging again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgbench.api.analysis_methods import SelectedScores
from kgbench.api.connection import Connection
from kgbench.tables import Table

if TYPE_CHECKING:
    from kgbench.api.runs import Reevaluation, Run
    from kgbench.engine import Progress

# Seconds for judging an answer: less turns correct answers into timeouts; as in configurations.
_SHORTEST, _LONGEST = 0.1, 3600


class Actions(SelectedScores):
    """Methods of :class:`kgbench.Results` about claims, and those that write to the store."""

    _chosen: dict[str, Any]
    _connection: Connection

    def compare(
        self,
        first: str,
        second: str,
        *,
        metric: str | None = None,
        round: str | None = None,
        flips: bool = False,
        estimand: str = "available",
        margin: float | None = None,
        solved: float = 0.5,
        samples: int = 10_000,
        seed: int = 0,
    ) -> Table:
        """Compare two models, two runs or two evaluation passes, task by task.

        Args:
            first: A model (id or name), a run (id, IRI or label) or an evaluation pass (IRI).
            second: The other one, of the same kind.
            metric: As for :meth:`tasks`.
            round: As for :meth:`tasks`.
            flips: Return the cases that only one of the two solved, instead of means.
            estimand: The population of intervals and tests: ``available`` (cases, or repetitions
                where a task has one case), ``cases``, ``repetitions``, ``tasks`` or ``dialogues``
                (as if independent).
            margin: Largest difference that counts as equivalent, for a test of equivalence; at
                least 0.
            solved: Least score of a solved dialogue.
            samples: Number of bootstrap samples, for ``dialogues``; at least 1.
            seed: Seed of the bootstrap.

        Raises:
            QueryError: The two cannot be compared, or a number is out of range.

        >>> results = kgbench.open("kgbench-results")
        >>> table = results.compare("oracle", "noisy")
        >>> table.where("task", "Text2KG-sample").column("difference")
        [0.25]
        """
        from kgbench.analysis import compare as analysis
        from kgbench.analysis.matching import matches, select_sides
        from kgbench.scores.inference import check_estimand

        check_estimand(estimand)
        a, b, chosen = select_sides(self.store, first, second, **self._chosen)
        pairs = matches(self.store, chosen, a, b, metric=metric, round=round)
        if flips:
            return analysis.flips(pairs, a, b, estimand=estimand, solved=solved)
        options: dict[str, Any] = {"estimand": estimand, "margin": margin, "solved": solved}
        return analysis.compare(pairs, a, b, samples=samples, seed=seed, **options)

    def plan(
        self,
        detect: float,
        *,
        power: float = 0.8,
        alpha: float = 0.05,
        between: float | None = None,
        within: float | None = None,
        correlation: float | None = None,
        repetitions: Sequence[int] = (1, 2, 4, 8),
        metric: str | None = None,
        round: str | None = None,
    ) -> Table:
        """Calculate how many cases and repetitions detect a difference, and their effort.

        Variances and effort are estimated from the selected scores, as by ``kgbench plan --from``.

        Args:
            detect: The difference of means to detect.
            power: Probability of detecting it, between 0 and 1.
            alpha: Significance level, between 0 and 1.
            between: Variance of means between cases, instead of the estimate.
            within: Variance within a case, instead of the estimate.
            correlation: Correlation of two models over cases, instead of the estimate.
            repetitions: Numbers of dialogues per case to tabulate.
            metric: As for :meth:`tasks`.
            round: As for :meth:`tasks`.

        Raises:
            QueryError: No task has several cases, or no test can support the claim.

        >>> results = kgbench.open("kgbench-results")
        >>> results.plan(0.2, repetitions=[1]).column("cases")
        [29]
        """
        from kgbench.analysis import planning

        claim = planning.Claim(detect, power, alpha).checked()
        declared = planning.DeclaredVariances(between, within, correlation)
        options: dict[str, Any] = {"metric": metric, "round": round}
        return planning.plan_from(
            self.store, self.selection, claim, declared, repetitions=repetitions, **options
        )

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
        allow_secrets: str | Sequence[str] = (),
        trust_remote_code: bool = False,
        retry_errors: bool | None = None,
        redo_invalidated: bool = False,
        reuse_answers: bool = False,
        preflight: bool = True,
        engine: str = "oxigraph",
        executor: str = "local",
        endpoint: str | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Run:
        """Run a benchmark, or continue it without requesting stored answers again.

        The same call continues the newest run of the same name. An interrupt stops the run in
        order. ``None`` keeps what the configuration says.

        Args:
            config: Configuration (YAML, JSON or Turtle); default: the quick start.
            models: Specifications of models, or globs over those of the configuration.
            tasks: Globs over task labels.
            iterations: Dialogues per task label, at least 1.
            suite: Name of a suite of published results in the store, whose cases are run.
            run: Id, IRI or label of the run to continue.
            new: Start a new run even if one could be continued.
            concurrency: Maximum number of concurrent calls per model, at least 1.
            call_timeout: Timeout of one call in seconds.
            requests_per_minute: Rate limit of calls, per model.
            tokens_per_minute: Rate limit of tokens, per model.
            max_cost: US dollars at which the run stops.
            max_tokens: Number of tokens at which the run stops.
            prices: A price table (Turtle) instead of the declared one.
            batch: Whether to use the batch APIs of providers.
            tool_protocol: ``native`` (tool calling of the provider) or ``text`` (in the prompt).
            allow_secrets: Names of variables whose secrets go where options of models say.
            trust_remote_code: Whether models may run code that comes with them (vLLM).
            retry_errors: Whether to retry dialogues whose calls failed in an earlier session (the
                default) or to leave them open (false). If true, dialogues that ended because the
                conversation was too long are invalidated and repeated as well.
            redo_invalidated: Whether to run invalidated dialogues again.
            reuse_answers: Whether to reuse answers to identical requests from other runs.
            preflight: Whether to make a short test call to each model first.
            engine: The engine that parses RDF and executes SPARQL: ``oxigraph`` or ``rdflib``.
            executor: Where answers are judged: ``local``, ``local:N`` or ``dask:ADDRESS``.
            endpoint: SPARQL endpoint for published cases whose graph is not available as a file.
            watch: Called with the progress after each step.

        Raises:
            ConfigurationError: The configuration is invalid; nothing has run.
            ModelSpecError: A model needs a permission that is not given; nothing has run.
            ProviderError: A model cannot be called; nothing has run.
            StoreError: The store cannot be opened for writing; nothing has run.

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
            "max_cost": max_cost,
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
            self._connection,
            config,
            overrides,
            settings,
            run=run,
            new=new,
            secrets=_several(allow_secrets) or (),
            trust_remote_code=trust_remote_code,
            watch=watch,
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

        Args:
            run: Id, IRI or label of a run; default: all runs.
            tasks: Globs over task labels.
            models: Globs over model ids or names.
            against: The evaluation pass to compare with: ``first``, ``latest`` or an IRI.
            timeout: Time limit for judging one answer, from 0.1 to 3600 seconds.
            engine: As for :meth:`run`.
            executor: As for :meth:`run`.
            endpoint: As for :meth:`run`.
            watch: Called with the number of judged dialogues.

        Raises:
            QueryError: The timeout is out of range; nothing is judged.
            StoreError: The store has no such run, or cannot be opened for writing.
            TaskError: No stored dialogue matches.

        >>> results = kgbench.open("kgbench-results")
        >>> again = results.reevaluate(tasks=["RdfFriendCount-turtle-*"])
        >>> again.report["dialogues_compared"], again.report["dialogues_differing"]
        (16, [])
        """
        from kgbench.analysis.registry import check_number
        from kgbench.api.runs import judge_again
        from kgbench.execution.judging import JudgeLimits
        from kgbench.run_selection import Selection as Stored

        check_number("timeout", timeout, _SHORTEST, _LONGEST)
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


def _several(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one text or several texts as a tuple; a text is not split into characters."""
    return (texts,) if isinstance(texts, str) else tuple(texts or ())
